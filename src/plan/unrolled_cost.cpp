#include "plan/unrolled_cost.h"

#include "plan/multiprocessor.h"

#include <algorithm>
#include <cmath>

namespace convt_jit {
namespace {

constexpr double kIdleWarps = 3;   // that wait while the others work
constexpr double kOverlap = 0.12;  // of what is not the bottleneck and still takes time
constexpr double kLineEnds = 60;   // bytes that a line costs beyond its own

}  // namespace

double unrolled_cycles(const UnrolledLayer& layer, const Workload& work, const UnrolledTile& t,
                       const UnrolledResources& r, const Arch& arch) {
    const PhasedAxis &v = layer.vertical, &h = layer.horizontal;
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
