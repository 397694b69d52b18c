#include "plan/fold.h"

#include <fmt/format.h>

namespace convt_jit {

std::string fold_refusal(const std::array<AxisParameters, 3>& axes, const Fold& fold) {
    constexpr const char* kNames[] = {"height", "width"};
    for (std::size_t a = 0; a < 2; ++a) {
        const AxisParameters& axis = axes[a + 1];
        if (fold[a] == 1) continue;
        if (fold[a] < 1 || axis.stride % fold[a] != 0)
            return fmt::format("fold is {} along {}, allowed: divisors of the stride {}", fold[a], kNames[a],
                               axis.stride);
        if (axis.dilation != 1)
            return fmt::format("fold needs a dilation of 1 along {}, not {}", kNames[a], axis.dilation);
        // Else there are outputs between others that nothing reaches.
        if (axis.kernel < axis.stride)
            return fmt::format("fold needs a kernel of at least the stride along {}, not {} of {}", kNames[a],
                               axis.kernel, axis.stride);
    }
    return {};
}

AxisParameters folded(const AxisParameters& axis, int fold) {
    if (fold == 1) return axis;
    AxisParameters result = axis;
    result.kernel = ceil_div(axis.kernel, fold);
    result.stride = axis.stride / fold;
    result.pad = (axis.pad - skew(axis, fold)) / fold;
    return result;
}

std::int64_t skew(const AxisParameters& axis, int fold) { return axis.pad % fold; }

}  // namespace convt_jit
