#include "plan/implicit_gemm_sm90_cost.h"

#include <algorithm>
#include <cmath>

namespace convt_jit {
namespace {

// Cycles, fit to measurements on an H200 (bench/results/h200-strips-trials.json).
constexpr double kTensorShare = 0.7;   // of the rate that products reach
constexpr double kGlobalShare = 1.25;  // of what other kernels reach
constexpr double kLoadTurn = 720;      // from the first load of a batch until its cells are written
constexpr double kLoadOfTurn = 37;     // of that for each load of a thread
constexpr double kHandOver = 225;      // of a chunk, from those who load to those who multiply
constexpr double kWritten = 5.5;       // of a thread and an output that it finishes
constexpr double kStore = 87;          // of a warp that does nothing else, for what its threads store at once
constexpr double kOwnStore = 4.5;      // of a warp that multiplies
constexpr double kBeside = 0.24;       // of what is not the bottleneck
constexpr double kCacheShare = 1.18;   // of what other kernels reach
constexpr double kFirstTile = 5000;    // until the first products of a block

// What measured times were more, against the other families' models (bench/results/h200-tuned-*.json).
constexpr double kUnmodelled = 1, kUnmodelledTf32 = 1.15;
constexpr double kEmptyRows = 5;       // row phases that have no taps, which others write without tiles of their own
constexpr double kEmptyColumns = 1.2;  // column phases
constexpr double kLongStride = 1.4;    // 3 and 4 along width: many column phases of few products
constexpr double kLongerStride = 2.2;  // beyond
constexpr double kSmallGroups = 2.6;   // groups of less than 32 channels: much is loaded for little
constexpr double kApart = 1.2;         // row taps with stages of their own
constexpr double kSmallBlocks = 1.3, kShortRing = 0.14;

}  // namespace

double implicit_gemm_sm90_cycles(const ImplicitGemmLayer& layer, const Workload& work, const ImplicitGemmSm90Tile& t,
                                 const ImplicitGemmSm90Resources& r) {
    const PhasedAxis& h = layer.horizontal;
    const bool folded = t.fold > 1;
    const double element = layer.element_bytes, channels = r.block_channels;
    const double channel_blocks = std::ceil(layer.out_per_group / channels);
    const double rows = std::ceil(static_cast<double>(work.positions[0]) / r.row_step);
    const double image_rows = static_cast<double>(t.positions[0]) / t.images, tiles_h = std::ceil(rows / image_rows);
    const double samples = std::ceil(static_cast<double>(work.samples) / t.images);
    const double tiles_w = std::ceil(static_cast<double>(work.positions[1]) / t.positions[1]);
    const double tiles = samples * tiles_h * tiles_w * channel_blocks * work.groups * r.row_phases;
    const double full =
        rows / (tiles_h * image_rows) * static_cast<double>(work.positions[1]) / (tiles_w * t.positions[1]);
    const double channels_full = layer.out_per_group / (channel_blocks * channels);

    // Of one tile, on average over depths and row phases, some of which have no taps.
    const double used = folded ? 1 : static_cast<double>(layer.used_rows) / layer.row_phases;
    const double set_row_taps = t.apart == 0 ? 1 : folded ? r.row_taps : layer.mean_taps_h / used;
    const double chunks = layer.mean_depth_taps * set_row_taps * r.chunks * used;
    const double products = t.groups_m * t.groups_n * r.runs * layer.mean_depth_taps * r.chunks *
                            (folded ? r.row_taps : layer.mean_taps_h) * h.taps * r.steps * (layer.split ? 3 : 1);
    // A product reads 64 cells and its columns' twice, and multiplies two cycles for a column. One warpgroup alone
    // leaves a pause between its products, and always where it waits for each few of them.
    const bool lonely = t.groups_m * t.groups_n * t.min_blocks * (layer.split ? 1 : t.teams) == 1;
    const double product = std::max(r.columns / 2.0, 16 + r.columns / 4.0) / kTensorShare;
    const double tensor = products * (lonely ? std::max(product, 61 + 0.61 * r.columns) : product);
    const double joins = layer.split ? products / 3 / t.join * r.columns / 2 * 4 / kIssue : 0;
    const double pixels = chunks * r.tile_height * r.tile_width;
    const double turn = kLoadTurn + kLoadOfTurn * r.held * 16 / element;
    const double loads = chunks * r.batches * turn / r.squads;
    const double cells = pixels * t.chunk * element / 16;
    const double pair = layer.element_bytes == 2 ? 2 : 1;  // pixels that are loaded together
    const double issue = (cells / 32 * (16 / element * 3 / pair + 30) + joins * kIssue) / kIssue;
    const double outputs =
        static_cast<double>(t.positions[0]) * t.positions[1] * h.stride * channels * (folded ? t.fold : 1);
    const double shared = (cells * r.parts * 16 + outputs * 12) / kSharedBytes;
    const double weights = t.resident == 1 ? 0 : chunks * static_cast<double>(r.weight_stage);
    // Rows of the tile come as whole sectors of 32 bytes.
    const double row = r.tile_width * element, sectors = (std::floor((row + 31) / 32) + 0.4) * 32 / row;
    const double cache = (weights + cells * 16 * sectors) / (kCacheBytes * kCacheShare);
    const double fresh = static_cast<double>(t.positions[0]) * r.row_step * t.positions[1] * layer.in_per_group *
                         element * full / (channel_blocks * r.row_phases);
    const double store_bytes = outputs * full * channels_full * element * 1.05;
    const double global = (fresh + store_bytes) / (kGlobalBytes * kGlobalShare);
    const double own = outputs / (128.0 * t.groups_m * t.groups_n);  // of a thread
    const double epilogue = own * kWritten + (t.storers > 0 ? kHandOver : own / t.store_width * kOwnStore);
    const double stores = t.storers > 0 ? outputs / 128 / t.store_width * kStore : 0;

    // What one tile takes after the other, and what several at a time share.
    const double alone = std::max(tensor + joins * 0.5, loads) + chunks * kHandOver + epilogue;
    const double together = std::max({tensor, issue, shared, loads / t.min_blocks, cache, global, stores});
    const double others = tensor + issue + shared + cache + global - together;
    const double tile = std::max(together + kBeside * std::max(others, 0.0), alone / (t.teams * t.min_blocks));
    constexpr double kProcessors = 132;
    const double turns = tiles / (kProcessors * t.min_blocks * t.teams);
    const double waves = turns < 8 ? std::ceil(turns) : turns;
    const bool tf32 = layer.element_bytes == 4 && !layer.split;
    const bool small_groups = work.groups > 1 && layer.out_per_group < 32;
    const double unmodelled = (small_groups ? kSmallGroups : 1) * (tf32 ? kUnmodelledTf32 : kUnmodelled) *
                              (layer.used_rows < layer.row_phases ? kEmptyRows
                               : h.used < h.stride                ? kEmptyColumns
                                                                  : 1) *
                              (t.apart == 1 ? kApart : 1) *
                              (h.stride > 4   ? kLongerStride
                               : h.stride > 2 ? kLongStride
                                              : 1) *
                              (t.min_blocks > 1 ? kSmallBlocks : 1) * (1 + kShortRing / (t.stages - 1));
    return unmodelled * waves * t.min_blocks * t.teams * tile + std::max(0.0, alone - tile * t.min_blocks * t.teams) +
           kFirstTile;
}

}  // namespace convt_jit
