#include "plan/implicit_gemm_sm90.h"

#include "plan/implicit_gemm_sm90_cost.h"
#include "plan/volume.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace convt_jit {
namespace {

using Found = std::pair<double, ImplicitGemmSm90Tile>;

// groups_m, groups_n and teams.
constexpr std::array<std::array<int, 3>, 7> kGroups = {
    {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {3, 1, 1}, {1, 1, 2}, {2, 1, 2}, {1, 2, 2}}};

// Folds that fill the rows of a product with the channels of a group or the phases of the stride.
std::vector<int> useful_folds(const ImplicitGemmLayer& layer, const Workload& work, int groups_m) {
    const std::int64_t stride = layer.vertical.stride, lines = work.positions[0] * stride;
    const std::int64_t most = std::min<std::int64_t>(8 * groups_m, lines);
    std::vector<int> folds;
    for (const std::int64_t fold : {stride, 64 * groups_m / (ceil_div(layer.out_per_group, 8) * 8) / stride * stride})
        if (fold > 1 && fold <= most && (folds.empty() || folds.back() != fold))
            folds.push_back(static_cast<int>(fold));
    return folds;
}

// Powers of two, and what divides rows with the least rest.
std::vector<int> useful_widths(std::int64_t positions) {
    std::vector<int> widths = {8, 32, 64, 128, 256};
    const auto add = [&](std::int64_t width) {
        if (std::find(widths.begin(), widths.end(), width) == widths.end()) widths.push_back(static_cast<int>(width));
    };
    const std::int64_t own = ceil_div(positions, 8) * 8;
    if (own <= 256) add(own);
    for (const auto& [least, most] : {std::pair{64, 120}, std::pair{120, 256}}) {
        std::int64_t best = 0, rest = positions;
        for (std::int64_t n = ceil_div(positions, most); n * least <= positions; ++n) {
            const std::int64_t width = ceil_div(ceil_div(positions, n), 8) * 8;
            if (n * width - positions < rest && width <= most) best = width, rest = n * width - positions;
        }
        if (best > 0 && rest * 32 < positions) add(best);
    }
    return widths;
}

// Samples that may share a tile: of batches of images so small that one is little work.
std::vector<int> useful_images(const Layer& layer, const Workload& work) {
    constexpr std::int64_t kMostPositions = 512;
    std::vector<int> result;
    const std::int64_t positions = work.positions[0] * work.positions[1], batch = layer.batch.value_or(1);
    for (const int images : {2, 4, 8, 16, 32})
        if (images <= batch && images * positions <= kMostPositions) result.push_back(images);
    return result;
}

// Every tile of the space that the arch has room for, with its modelled time. several: also of several images.
std::vector<Found> all_tiles(const Layer& whole, const Arch& arch, bool several) {
    const ImplicitGemmLayer layer = ImplicitGemmLayer::make(whole);
    std::vector<Found> found;
    if (!layer.refusal.empty() || arch.number != 90) return found;
    const Workload work = Workload::make(whole);
    const int unit = 32 / layer.element_bytes;
    ImplicitGemmSm90Tile tile;
    tile.store_width = work.store_width;
    const auto fits = [&](ImplicitGemmSm90Resources& resources) {
        return implicit_gemm_sm90_resources(layer, tile, arch, resources).empty();
    };
    const auto consider = [&] {
        ImplicitGemmSm90Resources resources;
        if (fits(resources)) found.emplace_back(implicit_gemm_sm90_cycles(layer, work, tile, resources), tile);
    };
    const auto consider_stages = [&](int m, int n, int teams, int apart) {
        // What does not fit with the least of everything fits with nothing.
        ImplicitGemmSm90Resources least;
        tile.chunk = unit, tile.stages = 2, tile.resident = tile.storers = 0, tile.min_blocks = tile.loaders = 1;
        tile.apart = apart;
        if (!fits(least)) return;
        // Rows are loaded once for each tap then: only where weights of all take the room of stages.
        constexpr std::int64_t kMuch = 24 << 10;
        if (apart == 1 && (least.row_taps < 3 || least.row_taps * least.weight_stage < kMuch)) return;
        for (const int chunk : {unit, 2 * unit, 4 * unit})
            for (const int stages : {2, 3, 4, 6})
                for (const int resident : {0, 1}) {
                    tile.chunk = chunk, tile.stages = stages, tile.resident = resident;
                    for (const int blocks : {1, 2}) {
                        if (blocks > 1 && m * n * teams > 1) continue;
                        tile.min_blocks = blocks, tile.storers = 0;
                        tile.loaders = blocks > 1 || m * n * teams > 2 ? 1 : 2;  // where there is room for registers
                        consider();
                    }
                    if (teams > 1) continue;
                    for (const int loaders : {1, 2}) {
                        tile.min_blocks = 1, tile.storers = 1, tile.loaders = loaders;
                        consider();
                    }
                }
    };
    const auto consider_all = [&](int m, int n, int teams) {
        for (const int apart : {0, 1}) consider_stages(m, n, teams, apart);
    };
    const auto consider_positions = [&](int height, int width) {
        tile.positions = {height, width};
        for (const auto& [m, n, teams] : kGroups) {
            tile.groups_m = m, tile.groups_n = n, tile.teams = teams, tile.fold = 1;
            if (m == 1 || 64 * (m - 1) < layer.out_per_group) consider_all(m, n, teams);
            for (const int fold : useful_folds(layer, work, m)) {
                tile.fold = fold;
                // Groups of rows that no channel is left for.
                if (m == 1 || 64 * (m - 1) < fold * tile.block_channels(layer.out_per_group)) consider_all(m, n, teams);
            }
        }
    };
    for (const int width : useful_widths(work.positions[1])) {
        if (width > 16 && width >= 2 * work.positions[1]) continue;
        for (const int height : {1, 2, 4, 6, 8, 16, 32}) {
            if (width == 8 && work.positions[1] >= 64) continue;  // their rows would be short
            if ((height > 1 && height >= 2 * work.positions[0]) || height * width > 768) continue;
            consider_positions(height, width);
        }
    }
    for (const int images : several ? useful_images(whole, work) : std::vector<int>()) {
        tile.images = images;
        consider_positions(static_cast<int>(images * work.positions[0]),
                           static_cast<int>(ceil_div(work.positions[1], 8) * 8));
    }
    return found;
}

bool quicker(const Found& a, const Found& b) { return a.first < b.first; }

}  // namespace

// No GPU has said yet where several images should share a tile.
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
    return implicit_gemm_sm90_cycles(layer, Workload::make(whole), *this, resources);
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
    const std::int64_t phases = row_phases(axes[1].stride), lines = fold > 1 ? fold : axes[1].stride;
    const std::int64_t tiles_h = ceil_div(ceil_div(out[1], lines), positions[0] / images);
    const std::int64_t tiles_w = ceil_div(ceil_div(out[2], axes[2].stride), positions[1]);
    const std::int64_t sets = layer.groups *
                              ceil_div(layer.out_channels_per_group(), block_channels(layer.out_channels_per_group())) *
                              phases;
    std::int64_t blocks = std::min(tiles_w * tiles_h * out[0] * ceil_div(shape.batch, images) * sets,
                                   std::int64_t{processors} * min_blocks);
    // A block stays with its weights: those of its first tile.
    if (resident == 1) blocks = std::max(blocks / sets, std::int64_t{1}) * sets;
    return {blocks, 1, 1};
}

}  // namespace convt_jit
