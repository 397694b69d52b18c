#include "subject/quantity.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <utility>

namespace convt_jit::tools {
namespace {

// The whole number that `text` begins with; what follows it stays in `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) noexcept {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

}  // namespace

std::optional<double> parse_duration(std::string_view text) noexcept {
    constexpr std::array<std::pair<char, int>, 5> kUnits = {
        {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}}};
    const auto number = take_number(text);
    if (!number || text.size() != 1) return std::nullopt;
    for (const auto& [letter, seconds] : kUnits)
        if (text.front() == letter) return static_cast<double>(*number) * seconds;
    return std::nullopt;
}

std::string format_bytes(std::uint64_t bytes) {
    constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
    if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    // 1023.95 would be written as 1024.0.
    for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
    return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string counted(std::size_t count, const char* one, const char* many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string format_duration(double seconds) {
    const auto whole = static_cast<long long>(std::llround(std::max(seconds, 0.0)));
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
    if (whole < 86400) return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
    return fmt::format("{} d {} h", whole / 86400, whole / 3600 % 24);
}

std::string format_bar(std::size_t full, std::size_t cells) {
    return fmt::format("[{:#<{}}{:-<{}}]", "", full, "", cells - full);
}

std::string format_date(double seconds) {
    if (!(seconds > 0)) return "never";
    return fmt::format("{:%Y-%m-%d %H:%M:%S}Z", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

}  // namespace convt_jit::tools
