#include "plan/implicit_gemm_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace convt_jit {

ImplicitGemmLayer ImplicitGemmLayer::make(const Layer& layer, const Fold& fold) {
    ImplicitGemmLayer result;
    if (layer.layout == Layout::channels_last) {
        result.refusal = "implicit_gemm serves channels-first tensors";
        return result;
    }
    auto axes = axes_3d(layer);
    result.refusal = fold_refusal(axes, fold);
    if (!result.refusal.empty()) return result;
    for (std::size_t a = 0; a < 2; ++a) axes[a + 1] = folded(axes[a + 1], fold[a]);
    if (!PhasedAxis::fits(axes[2])) {
        result.refusal = fmt::format("implicit_gemm serves kernels and strides up to {} along width, and small halos",
                                     PhasedAxis::kMost);
        return result;
    }
    constexpr std::int64_t kMostTaps = 256, kMostReach = 1024, kMostChannels = 1 << 20, kMostStride = 1 << 12;
    const auto step = [](const AxisParameters& axis) { return axis.stride / std::gcd(axis.stride, axis.dilation); };
    const std::int64_t taps_h = ceil_div(axes[1].kernel, step(axes[1]));
    const std::int64_t taps_d = ceil_div(axes[0].kernel, step(axes[0]));
    const std::int64_t reach = (taps_h - 1) * (axes[1].dilation / std::gcd(axes[1].stride, axes[1].dilation));
    if (taps_h > kMostTaps || taps_d > kMostTaps || reach > kMostReach || axes[1].stride > kMostStride ||
        axes[0].stride > kMostStride || layer.in_channels > kMostChannels || layer.out_channels > kMostChannels) {
        result.refusal = fmt::format(
            "implicit_gemm serves up to {} taps of a phase that lie within {} rows, strides up to {} and {} channels",
            kMostTaps, kMostReach, kMostStride, kMostChannels);
        return result;
    }
    result.horizontal = PhasedAxis::make(axes[2]);
    result.vertical = axes[1];
    result.taps_h = static_cast<int>(taps_h);
    result.same_taps_h = axes[1].kernel % step(axes[1]) == 0;
    result.reach_h = static_cast<int>(reach);
    result.row_phases = static_cast<int>(axes[1].stride);
    result.used_rows = static_cast<int>(std::min(axes[1].kernel, step(axes[1])));
    result.mean_taps_h = static_cast<double>(axes[1].kernel) / static_cast<double>(axes[1].stride);
    result.depth_kernel = static_cast<int>(axes[0].kernel);
    result.depth_taps = static_cast<int>(taps_d);
    result.mean_depth_taps = static_cast<double>(axes[0].kernel) / static_cast<double>(axes[0].stride);
    result.groups = static_cast<int>(layer.groups);
    result.in_per_group = static_cast<int>(layer.in_channels_per_group());
    result.out_per_group = static_cast<int>(layer.out_channels_per_group());
    result.fold = fold[0] * fold[1];
    result.fold_rows = fold[0];
    result.element_bytes = layer.dtype == DType::f32 ? 4 : 2;
    result.split = layer.dtype == DType::f32 && layer.precision == Precision::ieee;
    result.residual = layer.epilogue.residual;
    return result;
}

}  // namespace convt_jit
