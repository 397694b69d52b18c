#include "tune/pairs.h"

#include <algorithm>
#include <cmath>

namespace convt_jit {

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double spread(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[values.size() * 3 / 4] - values[values.size() / 4]) / values[values.size() / 2];
}

Comparison compare_pairs(const std::vector<double>& ms, const std::vector<double>& against_ms) {
    const std::size_t count = std::min(ms.size(), against_ms.size());
    std::vector<double> logs(count);
    for (std::size_t i = 0; i < count; ++i) logs[i] = std::log(ms[i] / against_ms[i]);
    Comparison result{median(logs), 0};
    std::vector<double> deviations(count);
    for (std::size_t i = 0; i < count; ++i) deviations[i] = std::abs(logs[i] - result.log_ratio);
    // 1.4826: deviation of a normal distribution from its median absolute one; 1.2533: of its median from its mean's.
    result.noise = 1.4826 * 1.2533 * median(deviations) / std::sqrt(static_cast<double>(count));
    return result;
}

}  // namespace convt_jit
