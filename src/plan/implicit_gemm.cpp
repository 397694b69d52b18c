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
constexpr int kSplitJoin = 2;
constexpr int kMostSplit = 16;

std::vector<int> widths(const UnrolledWork& work) {
    std::vector<int> result = {16, 32, 64, 128, 256};
    const auto own = static_cast<int>(std::min<std::int64_t>(ceil_div(work.positions[1], 8) * 8, 512));
    if (own <= 128 && std::find(result.begin(), result.end(), own) == result.end()) result.push_back(own);
    result.erase(std::remove_if(result.begin(), result.end(),
                                [&](int width) { return width > 16 && width >= 2 * work.positions[1]; }),
                 result.end());
    return result;
}

// Every tile of the space that the arch has room for, with its modelled time.
std::vector<Found> all_tiles(const Layer& whole, const Arch& arch) {
    const ImplicitGemmLayer layer = ImplicitGemmLayer::make(whole);
    std::vector<Found> found;
    if (!layer.refusal.empty()) return found;
    const UnrolledWork work = UnrolledWork::make(whole);
    const int unit = 8 * layer.word_channels();
    ImplicitGemmTile tile;
    tile.join = layer.split ? kSplitJoin : 0;
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
                if (channels > 16 && channels >= 2 * layer.out_per_group) continue;
                tile.block_channels = channels;
                for (const int warps_m : {1, 2, 4})
                    for (const int warps_n : {1, 2, 4, 8}) {
                        tile.warps_m = warps_m;
                        tile.warps_n = warps_n;
                        for (const int chunk : {unit, 2 * unit, 4 * unit})
                            for (const int stages : {2, 3, 4}) {
                                tile.chunk = chunk;
                                tile.stages = stages;
                                consider_all();
                            }
                    }
            }
        }
    return found;
}

bool quicker(const Found& a, const Found& b) { return a.first < b.first; }

}  // namespace

ImplicitGemmTile ImplicitGemmTile::standard(const Layer& layer, const Arch& arch) {
    const std::vector<Found> found = all_tiles(layer, arch);
    return found.empty() ? ImplicitGemmTile{} : std::min_element(found.begin(), found.end(), quicker)->second;
}

std::vector<ImplicitGemmTile> implicit_gemm_candidates(const Layer& layer, const Arch& arch, std::size_t most) {
    std::vector<Found> found = all_tiles(layer, arch);
    std::stable_sort(found.begin(), found.end(), quicker);
    std::vector<ImplicitGemmTile> tiles;
    for (std::size_t i = 0; i < std::min(most, found.size()); ++i) tiles.push_back(found[i].second);
    return tiles;
}

std::string ImplicitGemmTile::unsupported(const Layer& layer, const Arch& arch, bool exact_nonfinite) const {
    if (exact_nonfinite) return "implicit_gemm multiplies weights by the zeros beyond the input";
    const ImplicitGemmLayer parts = ImplicitGemmLayer::make(layer);
    if (!parts.refusal.empty()) return parts.refusal;
    ImplicitGemmResources resources;
    if (std::string why = implicit_gemm_resources(parts, *this, resources); !why.empty()) return why;
    return implicit_gemm_shortage(resources, arch);
}

double ImplicitGemmTile::modelled_cycles(const Layer& layer, const Arch& arch) const {
    if (!unsupported(layer, arch, false).empty()) return std::numeric_limits<double>::infinity();
    const ImplicitGemmLayer parts = ImplicitGemmLayer::make(layer);
    ImplicitGemmResources resources;
    (void)implicit_gemm_resources(parts, *this, resources);
    return implicit_gemm_cycles(parts, UnrolledWork::make(layer), *this, resources, arch);
}

std::size_t ImplicitGemmTile::shared_bytes(const Layer& layer) const {
    ImplicitGemmResources resources;
    (void)implicit_gemm_resources(ImplicitGemmLayer::make(layer), *this, resources);
    return static_cast<std::size_t>(resources.shared_bytes);
}

std::int64_t ImplicitGemmTile::packed_bytes(const Layer& layer) const {
    ImplicitGemmResources resources;
    (void)implicit_gemm_resources(ImplicitGemmLayer::make(layer), *this, resources);
    return resources.packed_bytes;
}

Grid ImplicitGemmTile::grid(const Layer& layer, const Shape& shape) const {
    const auto out = sizes_3d(output_size(layer, shape.input));
    const auto axes = axes_3d(layer);
    const std::int64_t tiles_h = ceil_div(ceil_div(out[1], axes[1].stride), positions[0]);
    const std::int64_t tiles_w = ceil_div(ceil_div(out[2], axes[2].stride), positions[1]);
    const std::int64_t channel_blocks = layer.groups * ceil_div(layer.out_channels_per_group(), block_channels);
    const std::int64_t rows = tiles_h * axes[1].stride * out[0];
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
