#include "layer/tokens.h"

#include <array>
#include <charconv>

namespace convt_jit {
namespace {

template <class Number>
std::optional<Number> read_whole(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return number;
}

}  // namespace

std::vector<Token> split(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n\v\f";
    std::vector<Token> tokens;
    std::size_t begin = 0;
    while ((begin = text.find_first_not_of(blanks, begin)) != std::string_view::npos) {
        const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
        tokens.push_back({text.substr(begin, end - begin), begin + 1});
        begin = end;
    }
    return tokens;
}

std::optional<std::int64_t> read_integer(std::string_view text) { return read_whole<std::int64_t>(text); }
std::optional<float> read_float(std::string_view text) { return read_whole<float>(text); }

std::string print_float(float value) {
    std::array<char, 32> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), end};
}

}  // namespace convt_jit
