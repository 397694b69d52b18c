#include "subject/argument.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <system_error>

namespace convt_jit::tools {

namespace {
constexpr std::size_t kShown = 60;  // of what is refused
}

CLI::Validator number(double low, double high) {
    const auto read = [low, high](std::string& text) -> std::string {
        double value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc() || stop != end || !(value >= low && value <= high))
            return fmt::format("\"{}\" is no number from {} to {}", text.substr(0, kShown), low, high);
        return {};
    };
    return {read, fmt::format("{} to {}", low, high), "number"};
}

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
    const auto read = [low, high](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc() || stop != end || value < low || value > high)
            return fmt::format("\"{}\" is no whole number from {} to {}", text.substr(0, kShown), low, high);
        text = std::to_string(value);
        return {};
    };
    return {read, fmt::format("{} to {}", low, high), "whole_number"};
}

CLI::Validator not_empty() {
    const auto read = [](std::string& text) { return text.empty() ? std::string("is empty") : std::string(); };
    return {read, "", "not_empty"};
}

}  // namespace convt_jit::tools
