#include "plan/unrolled_cost.h"

#include "plan/multiprocessor.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace convt_jit {
namespace {

constexpr double kIdleWarps = 3;   // that wait while the others work
constexpr double kOverlap = 0.12;  // of what is not the bottleneck and still takes time
constexpr double kLineEnds = 60;   // bytes that a line costs beyond its own

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

UnrolledWork UnrolledWork::make(const Layer& layer) {
    UnrolledWork work;
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

double unrolled_cycles(const UnrolledLayer& layer, const UnrolledWork& work, const UnrolledTile& t,
                       const UnrolledResources& r, const Arch& arch) {
    const UnrolledAxis &v = layer.vertical, &h = layer.horizontal;
    const double element = layer.element_bytes;
    const double channel_blocks = std::ceil(static_cast<double>(layer.out_per_group) / t.block_channels);
    const double tiles_h = std::ceil(static_cast<double>(work.positions[0]) / t.positions[0]);
    const double tiles_w = std::ceil(static_cast<double>(work.positions[1]) / t.positions[1]);
    const double blocks = static_cast<double>(work.samples) * tiles_h * tiles_w * channel_blocks * work.groups;
    // Not every tile is full of positions that exist, nor every block of channels.
    const double full = static_cast<double>(work.positions[0]) / (tiles_h * t.positions[0]) *
                        static_cast<double>(work.positions[1]) / (tiles_w * t.positions[1]);
    const double channels_full = static_cast<double>(layer.out_per_group) / (channel_blocks * t.block_channels);

    const double warps = std::ceil(r.threads / 32.0);
    const double planes = static_cast<double>(layer.in_per_group) * layer.depth_taps;  // of one output depth
    const double shares = t.reduction_threads;
    const double vectors = r.turns;  // a thread computes them one after the other
    const int phase_passes = t.row_phases == UnrolledTile::kInTurn ? v.used : 1;
    const double vector_reads = 4.0;
    // Of one warp and one plane, on average over the row phases.
    const double phase_share = t.row_phases == UnrolledTile::kSideBySide ? 1.0 / v.used : 1.0;
    const double products = static_cast<double>(v.taps) * h.taps * t.channels * t.rows * t.columns * phase_share;
    const double window_reads =
        static_cast<double>(r.window_height) * std::ceil((r.window_width + 3) / vector_reads) * phase_passes;
    const double weight_reads = static_cast<double>(v.taps) * h.taps * t.channels * phase_share / 4;
    // Neighbours that read 16 bytes from every second 16 bytes, or more rarely, meet in the banks.
    const double conflicts = std::max(1.0, t.columns * element / 16);
    const double convert = element == 2 ? static_cast<double>(r.window_height) * r.window_width * phase_passes : 0;
    const double work_issue = (products + window_reads + weight_reads + convert + 6) * planes / shares * vectors;
    const double work_shared =
        (window_reads * 4 * element / 4 * conflicts + weight_reads * 1.5) * planes / shares * vectors;

    // Staging, of the whole block: one instruction each for address, bounds and copy.
    const double input_bytes = planes * r.tile_height * r.tile_width * element;
    const double weights = planes * v.taps * h.taps * t.block_channels;
    const double stage_issue = (input_bytes / 16 * 5 + weights * 7) / 32;
    // Stores, of the whole block.
    const double outputs =
        static_cast<double>(t.positions[0]) * t.positions[1] * v.stride * h.stride * t.block_channels;
    const double store_width = t.slabs ? 4 : t.store_width;
    const double store_issue = outputs / 32 * (2.5 + 8 / store_width + (t.slabs ? 1 : 0));
    const double store_shared = t.slabs ? outputs * 8 / kSharedBytes : 0;
    // A thread's run leaves in several stores, each of which fills a part of many lines.
    const double run_bytes = t.columns * h.stride * element;
    const double run_store = std::min(store_width * element, run_bytes);
    // What a warp writes of a row; sectors at both of its ends are written twice.
    const int threads_x = t.positions[1] / t.columns;
    const double line_bytes = (threads_x % 32 == 0 ? 32 : threads_x) * run_bytes;
    const double store_bytes = outputs * full * channels_full * element *
                               (t.slabs                  ? 1 + kLineEnds / line_bytes
                                : run_store == run_bytes ? 1.1
                                : run_store >= 16        ? 1.7
                                                         : 2.6);

    const double issue = (warps * work_issue + stage_issue + store_issue) / kIssue;
    const double shared = warps * work_shared + store_shared + input_bytes / kSharedBytes;
    const double cache = (input_bytes + weights * element) / kCacheBytes;
    // Input tiles overlap, and are read again for other channels, but from the L2.
    const double fresh =
        static_cast<double>(t.positions[0]) * t.positions[1] * layer.in_per_group * element * full / channel_blocks;
    const double global = (fresh + store_bytes) / kGlobalBytes;
    const double busiest = std::max({issue, shared, cache + global * 0.5, global});
    const double others = issue + shared + cache + global - busiest;

    const double resident = resident_blocks(r, arch);
    // One block after the other: the first chunk's latency, and what its few warps cannot hide.
    const double alone = kLoadLatency * (r.resident ? 1.5 : 2) + r.chunks * kBarrier +
                         (work_issue + (stage_issue + store_issue) / warps) * std::max(2.0, warps / kIssue) +
                         store_bytes / kGlobalBytes * 0.3;
    const double awake = resident * warps;
    const double efficiency = awake / (awake + kIdleWarps);
    return grid_cycles(blocks, resident, busiest + kOverlap * others, efficiency, alone);
}

}  // namespace convt_jit
