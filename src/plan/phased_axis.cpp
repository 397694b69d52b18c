#include "plan/phased_axis.h"

#include "layer/phases.h"

namespace convt_jit {

bool PhasedAxis::fits(const AxisParameters& axis) {
    const Halo range = halo(axis);
    return axis.kernel <= kMost && axis.stride <= kMost && -range.lowest <= kMostOffset && range.highest <= kMostOffset;
}

PhasedAxis PhasedAxis::make(const AxisParameters& axis) {
    PhasedAxis result;
    result.taps = static_cast<int>(axis.kernel);
    result.stride = static_cast<int>(axis.stride);
    const Halo range = halo(axis);
    result.low = static_cast<int>(range.lowest);
    result.high = static_cast<int>(range.highest);
    const AxisPhases all = axis_phases(axis.kernel, axis.stride, axis.pad, axis.dilation);
    result.used = 0;
    for (std::size_t r = 0; r < all.phases.size(); ++r) {
        const Phase& phase = all.phases[r];
        if (phase.taps == 0) continue;
        ++result.used;
        result.phases[r] = {static_cast<int>(phase.taps),
                            static_cast<int>(phase.first_offset - (phase.taps - 1) * all.offset_step),
                            static_cast<int>(phase.first_offset)};
    }
    return result;
}

}  // namespace convt_jit
