#include "plan/implicit_gemm_cost.h"

#include "plan/multiprocessor.h"

#include <algorithm>
#include <cmath>

namespace convt_jit {
namespace {

constexpr double kMma = 0.6;             // m16n8k8 of tf32, m16n8k16 of 16-bit types
constexpr double kUnmodelled = 1.1;      // what times of 4-byte elements measured more, beside those of `unrolled`
constexpr double kIdleWarps = 2;         // that wait while the others work
constexpr double kAnotherLaunch = 5000;  // cycles between two kernels
constexpr double kOverlap = 0.2;         // of what is not the bottleneck and still takes time

// Tiles of a launch, along each of what they divide.
struct Tiles {
    double channels, height, width;
};
Tiles tiles_of(const ImplicitGemmLayer& layer, const Workload& work, const ImplicitGemmTile& t) {
    return {static_cast<double>(layer.blocks_of(t.block_channels)),
            std::ceil(static_cast<double>(work.positions[0]) / t.positions[0]),
            std::ceil(static_cast<double>(work.positions[1]) / t.positions[1])};
}

}  // namespace

double implicit_gemm_blocks(const ImplicitGemmLayer& layer, const Workload& work, const ImplicitGemmTile& t) {
    const Tiles tiles = tiles_of(layer, work, t);
    return static_cast<double>(work.samples) * tiles.height * tiles.width * tiles.channels * work.groups *
           layer.row_phases * t.split;
}

double implicit_gemm_cycles(const ImplicitGemmLayer& layer, const Workload& work, const ImplicitGemmTile& t,
                            const ImplicitGemmResources& r, const Arch& arch) {
    const PhasedAxis& h = layer.horizontal;
    const double element = layer.element_bytes;
    const auto [channel_blocks, tiles_h, tiles_w] = tiles_of(layer, work, t);
    const double blocks = implicit_gemm_blocks(layer, work, t);
    const double full = static_cast<double>(work.positions[0]) / (tiles_h * t.positions[0]) *
                        static_cast<double>(work.positions[1]) / (tiles_w * t.positions[1]);
    const double channels_full =
        static_cast<double>(layer.out_per_group) * layer.fold / (channel_blocks * t.block_channels);

    // Of one block, on average over depths and row phases, some of which have no taps.
    const double warps = r.threads / 32.0;
    const double chunks =
        layer.mean_depth_taps * std::ceil(static_cast<double>(layer.in_per_group) / t.chunk) / t.split;
    const double with_taps = static_cast<double>(layer.used_rows) / layer.row_phases;
    const double steps = chunks * layer.mean_taps_h * r.slots * r.steps;
    const double products = warps * steps * r.warp_m * r.warp_n * (layer.split ? 3 : 1);
    // Of a warp's fragments, in one step. Rows that are shared are read once for all row taps.
    const double rows_read =
        r.shares_rows ? static_cast<double>(r.warp_rows + layer.reach_h) / (r.warp_rows * layer.taps_h) : 1;
    const double inputs = 2.0 * r.warp_n * rows_read;
    const double words = 4.0 * r.warp_m + inputs;
    const double conversions = layer.element_bytes == 2 ? 0 : layer.split ? 3 * words : words;
    const double joins = t.join > 0 ? 4.0 * r.warp_m * r.warp_n / t.join : 0;
    const double reads = r.warp_m + inputs;

    const double input_words = chunks * with_taps * (t.chunk / layer.word_channels()) * r.tile_height * r.tile_width;
    const double weight_words = steps * t.block_channels * 8;
    const double outputs = static_cast<double>(t.positions[0]) * t.positions[1] * h.stride * t.block_channels;
    const double stage_issue = input_words / 128 * 4 + weight_words / 128 * 2;
    const double store_issue = outputs / 32 * 4;

    const double tensor = products / kMma;
    const double issue =
        (warps * steps * (conversions + joins + reads) + products + stage_issue + store_issue) / kIssue;
    const double shared = warps * steps * words + (input_words * 4 + weight_words * 8 + outputs * 12) / kSharedBytes;
    const double cache =
        (input_words * 4 * element / 4 * layer.word_channels() + weight_words * element * layer.word_channels()) /
        kCacheBytes;
    const double fresh = static_cast<double>(t.positions[0]) * t.positions[1] * layer.in_per_group * element * full /
                         (channel_blocks * layer.row_phases * t.split);
    const double store_bytes = outputs * full * channels_full * (t.split > 1 ? 4 : element) * 1.05;
    const double global = (fresh + store_bytes) / kGlobalBytes;

    const double busiest = std::max({tensor, issue, shared, cache, global});
    const double others = tensor + issue + shared + cache + global - busiest;
    const double resident = resident_blocks(r, arch);
    const double awake = resident * warps;
    const double efficiency = awake / (awake + kIdleWarps);
    // One block after the other: latencies that nothing of its own hides.
    const double alone = kLoadLatency * (1 + (layer.element_bytes == 2 ? chunks * 0.5 : 0)) + chunks * kBarrier +
                         std::max(tensor, issue) + store_bytes / kGlobalBytes * 0.3 + outputs * 12 / kSharedBytes;
    // The partial sums of all tiles are read, from the L2 if all goes well, and the outputs written.
    const double reduction = t.split == 1
                                 ? 0
                                 : kAnotherLaunch + blocks / t.split * outputs * full * channels_full *
                                                        (4 * t.split + element) / (kCacheBytes * kMultiprocessors);
    const double unmodelled = layer.element_bytes == 4 ? kUnmodelled : 1;
    return unmodelled * grid_cycles(blocks, resident, busiest + kOverlap * others, efficiency, alone) + reduction;
}

}  // namespace convt_jit
