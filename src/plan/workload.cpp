#include "plan/workload.h"

#include "plan/volume.h"

#include <algorithm>
#include <bit>

namespace convt_jit {
namespace {

// Sizes are taken coarsely where they are large, so that layers which differ little share a kernel, and share it with
// the layer that knows no size. What is not large is taken for what it is: tiles that fit leave nothing undone.
// Signals in one dimension come in any length, so theirs is rounded up to three significant bits.
constexpr std::int64_t kLargeHeight = 512, kLargeWidth = 1 << 13, kManySamples = 64, kManyPositions = 1 << 14;

std::int64_t bucket_of_height(std::int64_t size) {
    constexpr std::int64_t kMost = 128;
    return size > kMost ? kLargeHeight
           : size > 8
               ? ceil_div(size, 2) * 2
               : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1))));
}
std::int64_t bucket_of_width(std::int64_t size, bool signal) {
    constexpr std::int64_t kMost = 2048;
    if (size > kMost) return kLargeWidth;
    if (signal && size > 8) {
        const std::int64_t step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size))) / 4;
        size = ceil_div(size, step) * step;
    }
    return size > 8 ? ceil_div(size, 8) * 8 : bucket_of_height(size);
}

}  // namespace

Workload Workload::make(const Layer& layer) {
    Workload work;
    work.groups = static_cast<int>(std::min<std::int64_t>(layer.groups, 1 << 20));
    work.samples = kManySamples;
    work.positions = {1, 1};
    const bool known = !layer.input.empty();
    const auto axes = axes_3d(layer);
    const Dims out = known ? output_size(layer, layer.input) : Dims();
    const int missing = 3 - layer.spatial_dims();
    std::int64_t samples = layer.batch.value_or(kManySamples), all = samples;
    for (int axis = 0; axis < layer.spatial_dims(); ++axis) {
        const auto a = static_cast<std::size_t>(axis + missing);
        const std::int64_t size = known ? ceil_div(out[axis], axes[a].stride) : kLargeWidth;
        if (a == 0)
            samples = known ? samples * out[axis] : kManySamples;
        else
            work.positions[a - 1] = a == 1 ? bucket_of_height(size) : bucket_of_width(size, layer.spatial_dims() == 1);
        all = known ? std::min(all * size, kManyPositions) : kManyPositions;
    }
    if (known && all < kManyPositions)
        work.samples =
            static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(samples, 1))));
    work.store_width = layer.dtype == DType::f32 ? 4 : 8;
    while (known && out[layer.spatial_dims() - 1] % work.store_width != 0) work.store_width /= 2;
    return work;
}

}  // namespace convt_jit
