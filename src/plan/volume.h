// Volume: a layer seen in three dimensions, as the kernels see it. Missing outer axes have size, kernel and stride 1.
#pragma once

#include "convt_jit/layer.h"

#include <array>
#include <cstdint>

namespace convt_jit {

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

struct AxisParameters {
    std::int64_t kernel = 1, stride = 1, dilation = 1, pad = 0, pad_end = 0, output_padding = 0;
};

[[nodiscard]] inline std::array<AxisParameters, 3> axes_3d(const Layer& layer) {
    std::array<AxisParameters, 3> axes;
    const int missing = 3 - layer.spatial_dims();
    for (int a = 0; a < layer.spatial_dims(); ++a)
        axes[static_cast<std::size_t>(a + missing)] = {layer.kernel[a],    layer.stride[a],  layer.dilation[a],
                                                       layer.pad_begin[a], layer.pad_end[a], layer.output_padding[a]};
    return axes;
}

// Lowest and highest input offset over all taps of an axis, as AxisPhases has them, without making the phases:
// offset(k) = ceil((pad - k*dilation) / stride), which falls as k grows.
struct Halo {
    std::int64_t lowest = 0, highest = 0;
};
[[nodiscard]] inline Halo halo(const AxisParameters& axis) {
    return {ceil_div(axis.pad - (axis.kernel - 1) * axis.dilation, axis.stride), ceil_div(axis.pad, axis.stride)};
}

[[nodiscard]] inline std::array<std::int64_t, 3> sizes_3d(const Dims& dims) {
    std::array<std::int64_t, 3> sizes = {1, 1, 1};
    for (int a = 0; a < dims.rank(); ++a) sizes[static_cast<std::size_t>(a + 3 - dims.rank())] = dims[a];
    return sizes;
}

// Taps of one (input channel, output channel) pair. The layer is valid, so it does not overflow.
[[nodiscard]] inline std::int64_t taps(const Layer& layer) {
    std::int64_t n = 1;
    for (const std::int64_t k : layer.kernel) n *= k;
    return n;
}

}  // namespace convt_jit
