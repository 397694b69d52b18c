#include "convt_jit/tuning.h"

#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <tuple>

namespace convt_jit {
namespace {

// The numbers that a version begins with: "0.12.1-rc2" is 0, 12, 1.
std::array<int, 3> numbers_of(std::string_view version) noexcept {
    std::array<int, 3> numbers{};
    for (int& number : numbers) {
        const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
        if (error != std::errc()) break;
        version.remove_prefix(static_cast<std::size_t>(end - version.data()));
        if (version.empty() || version.front() != '.') break;
        version.remove_prefix(1);
    }
    return numbers;
}

// Neither a card with a faster clock nor a larger image wins by itself: both are in the speed of light, too.
double over_speed_of_light(const TuningEvidence& e) noexcept {
    return e.speed_of_light_ms > 0 ? e.ms / e.speed_of_light_ms : std::numeric_limits<double>::infinity();
}

auto fields(const TuningEvidence& e) noexcept {
    return std::tie(e.ms, e.plan, e.spread, e.runner_up_plan, e.runner_up_ms, e.default_plan, e.default_ms,
                    e.speed_of_light_ms, e.weights, e.batch, e.candidates, e.driver, e.toolkit, e.clock_mhz,
                    e.memory_clock_mhz, e.date, e.library, e.extra);
}

auto sizes_of(const TuningEvidence& e) noexcept {
    return std::tuple(e.input.rank(), e.input.rank() > 0 ? e.input[0] : 0, e.input.rank() > 1 ? e.input[1] : 0,
                      e.input.rank() > 2 ? e.input[2] : 0);
}

}  // namespace

const char* to_string(MeasuredWeights weights) noexcept {
    return weights == MeasuredWeights::constant ? "constant" : "changing";
}

bool operator==(const TuningEvidence& a, const TuningEvidence& b) noexcept {
    return fields(a) == fields(b) && a.input == b.input;
}

bool is_better(const TuningEvidence& a, const TuningEvidence& b) noexcept {
    if (a.weights != b.weights) return a.weights == MeasuredWeights::constant;
    if (const auto left = numbers_of(a.library), right = numbers_of(b.library); left != right) return left > right;
    if (const double left = over_speed_of_light(a), right = over_speed_of_light(b); left != right) return left < right;
    if (a.date != b.date) return a.date > b.date;
    return std::tuple(fields(a), sizes_of(a)) < std::tuple(fields(b), sizes_of(b));
}

}  // namespace convt_jit
