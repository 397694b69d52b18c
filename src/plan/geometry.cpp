#include "plan/geometry.h"

#include "plan/volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace convt_jit {
namespace {

constexpr std::int64_t kMaxGridX = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kMaxGridYZ = 65535;
constexpr std::int64_t kMax32 = std::numeric_limits<std::int32_t>::max();

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::uint32_t clipped(std::int64_t n, std::int64_t limit) { return static_cast<std::uint32_t>(std::clamp<std::int64_t>(n, 1, limit)); }

void grid(const Layer& layer, const DirectTile& tile, const Shape& shape, Geometry& g) {
    const auto out = sizes_3d(output_size(layer, shape.input));
    const auto axes = axes_3d(layer);
    std::int64_t tiles = 1;
    for (std::size_t a = 0; a < 3; ++a) tiles *= ceil_div(ceil_div(out[a], axes[a].stride), tile.positions[a]);
    // The kernel loops over whatever a grid cannot hold.
    g.grid[0] = clipped(tiles, kMaxGridX);
    g.grid[1] = clipped(layer.groups * ceil_div(layer.out_channels_per_group(), tile.channels()), kMaxGridYZ);
    g.grid[2] = clipped(shape.batch, kMaxGridYZ);
}

void grid(const Layer& layer, const ReferenceTile& tile, const Shape& shape, Geometry& g) {
    g.grid[0] = clipped(ceil_div(sizes(layer, shape).y, tile.threads), kMaxGridX);
}

}  // namespace

std::uint32_t threads_per_block(const Layer&, const Plan& plan) {
    struct Threads {
        int operator()(const DirectTile& tile) const { return tile.threads(); }
        int operator()(const ReferenceTile& tile) const { return tile.threads; }
    };
    return static_cast<std::uint32_t>(std::visit(Threads{}, plan.tile));
}

std::size_t shared_bytes_per_block(const Layer& layer, const Plan& plan) {
    const auto* direct = std::get_if<DirectTile>(&plan.tile);
    return direct != nullptr ? direct_shared(layer, *direct).total() : 0;
}

Geometry geometry(const Layer& layer, const Plan& plan, const Shape& shape) {
    Geometry g;
    g.threads = threads_per_block(layer, plan);
    g.shared_bytes = shared_bytes_per_block(layer, plan);
    std::visit([&](const auto& tile) { grid(layer, tile, shape, g); }, plan.tile);
    return g;
}

bool needs_index64(const Layer& layer, const Shape& shape) {
    const auto in = sizes_3d(shape.input);
    const auto out = sizes_3d(output_size(layer, shape.input));
    const auto axes = axes_3d(layer);
    constexpr std::int64_t kTile = 4096;  // no tile is longer along one axis
    std::int64_t in_sample = layer.in_channels, out_sample = layer.out_channels;
    for (std::size_t a = 0; a < 3; ++a) {
        in_sample *= in[a];
        out_sample *= out[a];
        // Indices of positions that a tile covers beyond the image, and of the inputs that their taps would read.
        const std::int64_t last = ceil_div(out[a], axes[a].stride) + kTile;
        if ((last + 1) * axes[a].stride > kMax32) return true;
        const Halo range = halo(axes[a]);
        if (last + std::max(range.highest, -range.lowest) > kMax32) return true;
    }
    return in_sample > kMax32 || out_sample > kMax32;
}

void check_index_width(const Layer& layer, const Plan& plan, const Shape& shape) {
    if (plan.index64 || !needs_index64(layer, shape)) return;
    throw LayerError("input", to_string(shape.input),
                     fmt::format("sizes of which one sample has 32-bit offsets (this kernel was prepared without such a "
                                 "large input; prepare it with a layer that knows its input size, or with the plan "
                                 "option index=64)"));
}

}  // namespace convt_jit
