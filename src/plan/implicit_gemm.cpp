#include "plan/implicit_gemm.h"

#include "plan/implicit_gemm_cost.h"
#include "plan/implicit_gemm_resources.h"
#include "plan/volume.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace convt_jit {
namespace {

using Found = std::pair<double, ImplicitGemmTile>;

// Tensor cores cut their sums off, which shortens a long one by some 4e-8 a step: f32 sums join their total often.
int join_of(const Layer& layer) { return layer.dtype == DType::f32 && layer.precision == Precision::ieee ? 2 : 0; }

constexpr int kMostSplit = 16;

std::vector<int> widths(const Workload& work) {
    std::vector<int> result = {16, 32, 64, 128, 256};
    const auto own = static_cast<int>(std::min<std::int64_t>(ceil_div(work.positions[1], 8) * 8, 512));
    if (own <= 128 && std::find(result.begin(), result.end(), own) == result.end()) result.push_back(own);
    result.erase(std::remove_if(result.begin(), result.end(),
                                [&](int width) { return width > 16 && width >= 2 * work.positions[1]; }),
                 result.end());
    return result;
}

// Ways to fold the layer that are worth measuring: where its channels are few, or nothing else makes its kernel small
// enough, those that leave the fewest products, and of those that leave as many the ones that fold most, which load the
// input least often.
std::vector<Fold> folds(const Layer& layer) {
    constexpr std::int64_t kFewChannels = 32, kMostFold = 256;
    constexpr std::size_t kMost = 4;
    std::vector<Fold> result;
    if (ImplicitGemmLayer::make(layer).refusal.empty()) result.push_back({1, 1});
    const std::int64_t channels = layer.out_channels_per_group();
    if (channels > kFewChannels && !result.empty()) return result;
    const auto axes = axes_3d(layer);
    std::vector<std::pair<double, Fold>> found;
    for (int rows = 1; rows <= std::min(axes[1].stride, kMostFold); ++rows)
        for (int columns = 1; columns <= std::min(axes[2].stride, kMostFold / rows); ++columns) {
            const Fold fold = {rows, columns};
            if (rows * columns == 1 || !ImplicitGemmLayer::make(layer, fold).refusal.empty()) continue;
            // Products of one output: rows of a product that are of no use, and taps that are zeros.
            const std::int64_t used = channels * rows * columns;
            double products = static_cast<double>(ceil_div(used, 16) * 16) / static_cast<double>(used);
            for (std::size_t a = 0; a < 2; ++a)
                products *= static_cast<double>(ceil_div(axes[a + 1].kernel, fold[a]) * fold[a]);
            found.emplace_back(products, fold);
        }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        const auto area = [](const Fold& fold) { return fold[0] * fold[1]; };
        return a.first != b.first ? a.first < b.first : area(a.second) > area(b.second);
    });
    for (std::size_t i = 0; i < std::min(kMost, found.size()); ++i) result.push_back(found[i].second);
    return result;
}

// Whether the rows of a warp are not those that it has anyway, and are of use.
bool is_another(const ImplicitGemmTile& tile, const ImplicitGemmLayer& layer) {
    const int tiles = tile.positions[0] * tile.positions[1] / 8;
    return tile.warp_rows == 0 || (layer.taps_h > 1 && layer.same_taps_h && tiles % tile.warps_n == 0 &&
                                   tile.warp_rows != ceil_div(tiles / tile.warps_n, tile.positions[1] / 8));
}

// Whether chunks of half a step leave less of the last one empty, or the weights of many taps would fill a stage.
bool wants_pairs(const ImplicitGemmLayer& layer, int unit) {
    constexpr int kManyTaps = 12;
    const int rest = layer.in_per_group % unit;
    return (rest > 0 && rest <= unit / 2 && layer.in_per_group < 4 * unit) || layer.horizontal.taps >= kManyTaps;
}

// What of the tile is tried out.
struct Space {
    Fold fold = {1, 1};
    std::vector<int> warp_rows = {0};
    bool pairs = false;  // chunks of half a step
    bool rings = false;  // more than two stages of 16-bit types
};

// Adds every tile of the space that the arch has room for, with its modelled time.
void add_tiles(const Layer& whole, const Arch& arch, const Space& space, std::vector<Found>& found) {
    const ImplicitGemmLayer layer = ImplicitGemmLayer::make(whole, space.fold);
    if (!layer.refusal.empty()) return;
    const Workload work = Workload::make(whole);
    const int unit = 8 * layer.word_channels();
    ImplicitGemmTile tile;
    tile.fold = space.fold;
    tile.join = join_of(whole);
    // Whether the tile fits and leaves a GPU idle, so that its sums may be worth sharing.
    const auto consider = [&](int split) {
        ImplicitGemmResources resources;
        ImplicitGemmTile bounded = tile;
        bounded.split = split;
        if (!implicit_gemm_resources(layer, bounded, resources).empty() ||
            !implicit_gemm_shortage(resources, arch).empty())
            return false;
        // The compiler is told what will fit, or it would take registers that cost blocks.
        bounded.min_blocks = resident_blocks(resources, arch);
        found.emplace_back(implicit_gemm_cycles(layer, work, bounded, resources, arch), bounded);
        return implicit_gemm_blocks(layer, work, bounded) < 2 * kMultiprocessors * bounded.min_blocks;
    };
    const auto consider_all = [&] {
        for (int split = 1; split <= kMostSplit && consider(split);) split *= 2;
    };
    for (const int width : widths(work))
        for (const int height : {1, 2, 4, 8, 16}) {
            if (height > 1 && height >= 2 * work.positions[0]) continue;
            tile.positions = {height, width};
            for (const int channels : {16, 32, 48, 64, 96, 128, 256}) {
                if (channels > 16 && channels >= 2 * layer.out_per_group * layer.fold) continue;
                tile.block_channels = channels;
                for (const int warps_m : {1, 2, 4})
                    for (const int warps_n : {1, 2, 4, 8}) {
                        tile.warps_m = warps_m;
                        tile.warps_n = warps_n;
                        for (const int chunk : {unit / 2, unit, 2 * unit, 4 * unit}) {
                            if (chunk < unit && !(space.pairs && wants_pairs(layer, unit))) continue;
                            for (const int stages : {2, 3, 4}) {
                                if (stages > 2 && layer.element_bytes == 2 && !space.rings) continue;
                                tile.chunk = chunk;
                                tile.stages = stages;
                                for (const int rows : space.warp_rows) {
                                    tile.warp_rows = rows;
                                    if (is_another(tile, layer)) consider_all();
                                }
                            }
                        }
                    }
            }
        }
}

bool quicker(const Found& a, const Found& b) { return a.first < b.first; }

}  // namespace

// Folds where there is another way, other rows of a warp, pairs of taps and longer rings of 16-bit types are
// candidates; no GPU has said yet where the default choice should take them.
ImplicitGemmTile ImplicitGemmTile::standard(const Layer& layer, const Arch& arch) {
    std::vector<Found> found;
    add_tiles(layer, arch, {}, found);
    if (found.empty())
        for (const Fold& fold : folds(layer)) add_tiles(layer, arch, {fold, {0}, true}, found);
    if (!found.empty()) return std::min_element(found.begin(), found.end(), quicker)->second;
    ImplicitGemmTile tile;
    tile.join = join_of(layer);
    return tile;
}

std::vector<ImplicitGemmTile> implicit_gemm_candidates(const Layer& layer, const Arch& arch, std::size_t most) {
    std::vector<Found> found;
    for (const Fold& fold : folds(layer)) add_tiles(layer, arch, {fold, {0, 2, 4, 8}, true, true}, found);
    std::stable_sort(found.begin(), found.end(), quicker);
    std::vector<ImplicitGemmTile> tiles;
    for (std::size_t i = 0; i < std::min(most, found.size()); ++i) tiles.push_back(found[i].second);
    return tiles;
}

std::string ImplicitGemmTile::unsupported(const Layer& layer, const Arch& arch, bool exact_nonfinite) const {
    if (exact_nonfinite) return "implicit_gemm multiplies weights by the zeros beyond the input";
    const ImplicitGemmLayer parts = ImplicitGemmLayer::make(layer, fold);
    if (!parts.refusal.empty()) return parts.refusal;
    ImplicitGemmResources resources;
    if (std::string why = implicit_gemm_resources(parts, *this, resources); !why.empty()) return why;
    return implicit_gemm_shortage(resources, arch);
}

double ImplicitGemmTile::modelled_cycles(const Layer& layer, const Arch& arch) const {
    if (!unsupported(layer, arch, false).empty()) return std::numeric_limits<double>::infinity();
    const ImplicitGemmLayer parts = ImplicitGemmLayer::make(layer, fold);
    ImplicitGemmResources resources;
    (void)implicit_gemm_resources(parts, *this, resources);
    return implicit_gemm_cycles(parts, Workload::make(layer), *this, resources, arch);
}

std::size_t ImplicitGemmTile::shared_bytes(const Layer& layer) const {
    ImplicitGemmResources resources;
    (void)implicit_gemm_resources(ImplicitGemmLayer::make(layer, fold), *this, resources);
    return static_cast<std::size_t>(resources.shared_bytes);
}

std::int64_t ImplicitGemmTile::packed_bytes(const Layer& layer) const {
    ImplicitGemmResources resources;
    (void)implicit_gemm_resources(ImplicitGemmLayer::make(layer, fold), *this, resources);
    return resources.packed_bytes;
}

Grid ImplicitGemmTile::grid(const Layer& layer, const Shape& shape) const {
    const auto out = sizes_3d(output_size(layer, shape.input));
    const auto axes = axes_3d(layer);
    const auto tiles = [&](std::size_t a) {
        const AxisParameters& axis = axes[a + 1];
        return ceil_div(ceil_div(out[a + 1] + skew(axis, fold[a]), axis.stride), positions[a]);
    };
    const std::int64_t tiles_h = tiles(0), tiles_w = tiles(1);
    const std::int64_t channel_blocks =
        layer.groups * ceil_div(layer.out_channels_per_group(), block_channels / (fold[0] * fold[1]));
    const std::int64_t rows = tiles_h * (axes[1].stride / fold[0]) * out[0];
    if (order == kPlanes) return {tiles_w, rows, shape.batch * channel_blocks * split};
    return {tiles_w * channel_blocks, rows, shape.batch * split};
}

std::int64_t ImplicitGemmTile::workspace_bytes(const Layer& layer, const Shape& shape) const {
    const std::int64_t each = split * static_cast<std::int64_t>(sizeof(float)), outputs = sizes(layer, shape).y;
    if (!reduces()) return 0;
    return outputs <= std::numeric_limits<std::int64_t>::max() / each ? each * outputs
                                                                      : std::numeric_limits<std::int64_t>::max();
}

Grid ImplicitGemmTile::reduce_grid(const Layer& layer, const Shape& shape) const {
    constexpr std::int64_t kThreads = 256, kVectorBytes = 16;
    return {ceil_div(sizes(layer, shape).y * static_cast<std::int64_t>(size_of(layer.dtype)), kThreads * kVectorBytes)};
}

}  // namespace convt_jit
