#include "layer/phases.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace convt_jit {

AxisPhases axis_phases(std::int64_t kernel, std::int64_t stride, std::int64_t pad_begin, std::int64_t dilation) {
    const std::int64_t divisor = std::gcd(stride, dilation);
    AxisPhases axis;
    axis.tap_step = stride / divisor;
    axis.offset_step = dilation / divisor;
    axis.phases.resize(static_cast<std::size_t>(stride));
    axis.lowest_offset = std::numeric_limits<std::int64_t>::max();
    axis.highest_offset = std::numeric_limits<std::int64_t>::min();
    // Taps that are tap_step apart share a phase and closer ones never do: the first tap_step taps each open one.
    for (std::int64_t tap = 0; tap < std::min(kernel, axis.tap_step); ++tap) {
        const std::int64_t position = tap * dilation - pad_begin;  // the output that input 0 reaches through this tap
        const std::int64_t r = (position % stride + stride) % stride;
        Phase& phase = axis.phases[static_cast<std::size_t>(r)];
        phase.first_tap = tap;
        phase.first_offset = (r - position) / stride;
        phase.taps = (kernel - 1 - tap) / axis.tap_step + 1;
        axis.highest_offset = std::max(axis.highest_offset, phase.first_offset);
        axis.lowest_offset = std::min(axis.lowest_offset, phase.first_offset - (phase.taps - 1) * axis.offset_step);
    }
    return axis;
}

std::vector<AxisPhases> phases(const Layer& layer) {
    std::vector<AxisPhases> axes;
    for (int axis = 0; axis < layer.spatial_dims(); ++axis)
        axes.push_back(
            axis_phases(layer.kernel[axis], layer.stride[axis], layer.pad_begin[axis], layer.dilation[axis]));
    return axes;
}

}  // namespace convt_jit
