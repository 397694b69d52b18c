#include "plan/implicit_gemm_sm90.h"

#include "plan/implicit_gemm_sm90_resources.h"
#include "plan/unrolled_cost.h"
#include "plan/volume.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace convt_jit {
namespace {

using Found = std::pair<double, ImplicitGemmSm90Tile>;

// Cycles of an H100, fit to measurements (bench/results).
constexpr double kTensorShare = 0.85;  // of the rate that products reach
constexpr double kLoadTurn = 1200;     // from the first load of a batch until its cells are written
constexpr double kLoadOfTurn = 40;     // of that for each load of a thread
constexpr double kHandOver = 120;      // of a chunk, from those who load to those who multiply
constexpr double kLine = 130;          // of a warp and a line
constexpr double kFirstTile = 5000;    // until the first products of a block

// What the measured times of the other families' models are less, and where rows of the product or of the output are of
// little use.
constexpr double kUnmodelled = 1.5, kUnlikely = 3, kSmallBlocks = 1.3, kShortRing = 0.25;

double cycles(const ImplicitGemmLayer& layer, const UnrolledWork& work, const ImplicitGemmSm90Tile& t,
              const ImplicitGemmSm90Resources& r) {
    const UnrolledAxis& h = layer.horizontal;
    const bool folded = t.fold > 1;
    const double element = layer.element_bytes, channels = r.block_channels;
    const double channel_blocks = std::ceil(layer.out_per_group / channels);
    const double rows = std::ceil(static_cast<double>(work.positions[0]) / r.row_step);
    const double tiles_h = std::ceil(rows / t.positions[0]);
    const double tiles_w = std::ceil(static_cast<double>(work.positions[1]) / t.positions[1]);
    const double tiles =
        static_cast<double>(work.samples) * tiles_h * tiles_w * channel_blocks * work.groups * r.row_phases;
    const double full =
        rows / (tiles_h * t.positions[0]) * static_cast<double>(work.positions[1]) / (tiles_w * t.positions[1]);
    const double channels_full = layer.out_per_group / (channel_blocks * channels);
    // Rows of the product that are of use.
    const double rows_full = channels_full * channels * (folded ? t.fold : 1) / (64.0 * t.groups_m);

    // Of one tile, on average over depths and row phases, some of which have no taps.
    const double chunks =
        layer.mean_depth_taps * r.chunks * (folded ? 1 : static_cast<double>(layer.used_rows) / layer.row_phases);
    const double products = t.groups_m * t.groups_n * r.runs * layer.mean_depth_taps * r.chunks *
                            (folded ? r.row_taps : layer.mean_taps_h) * h.taps * r.steps * (layer.split ? 3 : 1);
    // A product reads 64 cells and its columns' twice, and multiplies two cycles for a column. One warpgroup alone
    // leaves a pause between its products.
    const bool lonely = t.groups_m * t.groups_n * t.min_blocks == 1;
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
    const double cache = (weights + cells * 16 * sectors) / kCacheBytes;
    const double fresh = static_cast<double>(t.positions[0]) * r.row_step * t.positions[1] * layer.in_per_group *
                         element * full / (channel_blocks * r.row_phases);
    const double store_bytes = outputs * full * channels_full * element * 1.05;
    const double global = (fresh + store_bytes) / kGlobalBytes;
    const double lines = 16.0 * r.columns * r.runs / 8 / r.piece_tiles * r.piece_lanes / 32;  // turns of a warp
    const double epilogue = lines * kLine + outputs / (128.0 * t.groups_m * t.groups_n) * 2;

    // What one tile takes after the other, and what several at a time share.
    const double alone = std::max(tensor + joins * 0.5, loads) + chunks * kHandOver + epilogue;
    const double together = std::max({tensor, issue, shared, loads / t.min_blocks, cache, global});
    const double others = tensor + issue + shared + cache + global - together;
    const double tile = std::max(together + 0.15 * std::max(others, 0.0), alone / (t.teams * t.min_blocks));
    constexpr double kProcessors = 132;
    const double turns = tiles / (kProcessors * t.min_blocks * t.teams);
    const double waves = turns < 8 ? std::ceil(turns) : turns;
    const double unmodelled = (rows_full < 0.7 || h.stride > 2 ? kUnlikely : kUnmodelled) *
                              (t.min_blocks > 1 ? kSmallBlocks : 1) * (1 + kShortRing / (t.stages - 1));
    return unmodelled * waves * t.min_blocks * t.teams * tile + std::max(0.0, alone - tile * t.min_blocks * t.teams) +
           kFirstTile;
}

// groups_m, groups_n and teams.
constexpr std::array<std::array<int, 3>, 6> kGroups = {
    {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {3, 1, 1}, {2, 1, 2}, {1, 2, 2}}};

// Folds that fill the rows of a product with the channels of a group or the phases of the stride.
std::vector<int> useful_folds(const ImplicitGemmLayer& layer, const UnrolledWork& work, int groups_m) {
    const std::int64_t stride = layer.vertical.stride, lines = work.positions[0] * stride;
    const std::int64_t most = std::min<std::int64_t>(8 * groups_m, lines);
    std::vector<int> folds;
    for (const std::int64_t fold : {stride, 64 * groups_m / (ceil_div(layer.out_per_group, 8) * 8) / stride * stride})
        if (fold > 1 && fold <= most && (folds.empty() || folds.back() != fold))
            folds.push_back(static_cast<int>(fold));
    return folds;
}

// Every tile of the space that the arch has room for, with its modelled time.
std::vector<Found> all_tiles(const Layer& whole, const Arch& arch, bool folded) {
    const ImplicitGemmLayer layer = ImplicitGemmLayer::make(whole);
    std::vector<Found> found;
    if (!layer.refusal.empty() || arch.number != 90) return found;
    const UnrolledWork work = UnrolledWork::make(whole);
    const int unit = 32 / layer.element_bytes;
    ImplicitGemmSm90Tile tile;
    const auto fits = [&](ImplicitGemmSm90Resources& resources) {
        return implicit_gemm_sm90_resources(layer, tile, arch, resources).empty();
    };
    const auto consider = [&] {
        ImplicitGemmSm90Resources resources;
        if (fits(resources)) found.emplace_back(cycles(layer, work, tile, resources), tile);
    };
    std::vector<int> widths = {8, 32, 64, 128, 256};
    const auto own = static_cast<int>(std::min<std::int64_t>(ceil_div(work.positions[1], 8) * 8, 512));
    if (own <= 256 && std::find(widths.begin(), widths.end(), own) == widths.end()) widths.push_back(own);
    const auto consider_all = [&](int m, int n, int teams) {
        // What does not fit with the least of everything fits with nothing.
        ImplicitGemmSm90Resources least;
        tile.chunk = unit, tile.stages = 2, tile.resident = 0, tile.min_blocks = tile.loaders = 1;
        if (!fits(least)) return;
        for (const int chunk : {unit, 2 * unit, 4 * unit})
            for (const int stages : {2, 3, 4, 6})
                for (const int resident : {0, 1})
                    for (const int blocks : {1, 2}) {
                        if (blocks > 1 && m * n * teams > 1) continue;
                        tile.chunk = chunk, tile.stages = stages, tile.resident = resident;
                        tile.min_blocks = blocks;
                        tile.loaders = blocks > 1 || teams > 1 ? 1 : 2;  // where there is room for registers
                        consider();
                    }
    };
    for (const int width : widths) {
        if (width > 16 && width >= 2 * work.positions[1]) continue;
        for (const int height : {1, 2, 4, 8, 16, 32}) {
            if (width == 8 && work.positions[1] >= 64) continue;  // their rows would be short
            if ((height > 1 && height >= 2 * work.positions[0]) || height * width > 768) continue;
            tile.positions = {height, width};
            for (const auto& [m, n, teams] : kGroups) {
                tile.groups_m = m, tile.groups_n = n, tile.teams = teams, tile.fold = 1;
                if (m == 1 || 64 * (m - 1) < layer.out_per_group) consider_all(m, n, teams);
                if (!folded) continue;
                for (const int fold : useful_folds(layer, work, m)) {
                    tile.fold = fold;
                    // Groups of rows that no channel is left for.
                    if (m == 1 || 64 * (m - 1) < fold * tile.block_channels(layer.out_per_group))
                        consider_all(m, n, teams);
                }
            }
        }
    }
    return found;
}

bool quicker(const Found& a, const Found& b) { return a.first < b.first; }

}  // namespace

ImplicitGemmSm90Tile ImplicitGemmSm90Tile::standard(const Layer& layer, const Arch& arch) {
    const std::vector<Found> found = all_tiles(layer, arch, false);
    return found.empty() ? ImplicitGemmSm90Tile{} : std::min_element(found.begin(), found.end(), quicker)->second;
}

std::vector<ImplicitGemmSm90Tile> implicit_gemm_sm90_candidates(const Layer& layer, const Arch& arch,
                                                                std::size_t most) {
    std::vector<Found> found = all_tiles(layer, arch, true);
    std::stable_sort(found.begin(), found.end(), quicker);
    std::vector<ImplicitGemmSm90Tile> tiles;
    for (std::size_t i = 0; i < std::min(most, found.size()); ++i) tiles.push_back(found[i].second);
    return tiles;
}

double ImplicitGemmSm90Tile::modelled_cycles(const Layer& whole, const Arch& arch) const {
    const ImplicitGemmLayer layer = ImplicitGemmLayer::make(whole);
    ImplicitGemmSm90Resources resources;
    if (!layer.refusal.empty() || !implicit_gemm_sm90_resources(layer, *this, arch, resources).empty())
        return std::numeric_limits<double>::infinity();
    return cycles(layer, UnrolledWork::make(whole), *this, resources);
}

std::string ImplicitGemmSm90Tile::unsupported(const Layer& layer, const Arch& arch, bool exact_nonfinite) const {
    if (exact_nonfinite) return "implicit_gemm_sm90 multiplies weights by the zeros beyond the input";
    const ImplicitGemmLayer parts = ImplicitGemmLayer::make(layer);
    if (!parts.refusal.empty()) return parts.refusal;
    ImplicitGemmSm90Resources resources;
    return implicit_gemm_sm90_resources(parts, *this, arch, resources);
}

std::size_t ImplicitGemmSm90Tile::shared_bytes(const Layer& layer) const {
    ImplicitGemmSm90Resources resources;
    (void)implicit_gemm_sm90_resources(ImplicitGemmLayer::make(layer), *this, {90, 'a'}, resources);
    return static_cast<std::size_t>(resources.shared_bytes);
}

std::int64_t ImplicitGemmSm90Tile::packed_bytes(const Layer& layer) const {
    ImplicitGemmSm90Resources resources;
    (void)implicit_gemm_sm90_resources(ImplicitGemmLayer::make(layer), *this, {90, 'a'}, resources);
    return resources.packed_bytes;
}

int ImplicitGemmSm90Tile::block_channels(std::int64_t out_per_group) const {
    const int rows = 64 * groups_m;
    return fold == 1 ? rows
                     : static_cast<int>(std::min<std::int64_t>(rows / fold / 8 * 8, ceil_div(out_per_group, 8) * 8));
}

int ImplicitGemmSm90Tile::columns() const {
    const int row_tiles = positions[1] / 8, own = row_tiles * positions[0] / groups_n;
    return 8 * (row_tiles == 1 || own < row_tiles ? own : row_tiles);
}

Grid ImplicitGemmSm90Tile::grid(const Layer& layer, const Shape& shape) const {
    const auto out = sizes_3d(output_size(layer, shape.input));
    const auto axes = axes_3d(layer);
    const std::int64_t phases = fold > 1 ? 1 : axes[1].stride, lines = fold > 1 ? fold : axes[1].stride;
    const std::int64_t tiles_h = ceil_div(ceil_div(out[1], lines), positions[0]);
    const std::int64_t tiles_w = ceil_div(ceil_div(out[2], axes[2].stride), positions[1]);
    const std::int64_t sets = layer.groups *
                              ceil_div(layer.out_channels_per_group(), block_channels(layer.out_channels_per_group())) *
                              phases;
    std::int64_t blocks =
        std::min(tiles_w * tiles_h * out[0] * shape.batch * sets, std::int64_t{processors} * min_blocks);
    // A block stays with its weights: those of its first tile.
    if (resident == 1) blocks = std::max(blocks / sets, std::int64_t{1}) * sets;
    return {blocks, 1, 1};
}

}  // namespace convt_jit
