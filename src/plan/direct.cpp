#include "plan/direct.h"

#include "layer/phases.h"
#include "plan/shared_limit.h"
#include "plan/volume.h"
#include "plan/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace convt_jit {
namespace {

constexpr int kMaxAccumulators = 64;
constexpr int kLanes = 32;
constexpr int kTargetThreads = 256;

std::int64_t saturating_product(std::initializer_list<std::int64_t> factors) {
    std::int64_t product = 1;
    for (const std::int64_t f : factors)
        if (__builtin_mul_overflow(product, f, &product)) return std::numeric_limits<std::int64_t>::max();
    return product;
}

int floor_power_of_two(std::int64_t n) {
    return static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}
int ceil_power_of_two(std::int64_t n) {
    return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(n, 1, 1 << 20))));
}

// Positions of a tile: as wide as the row where its size is known, since wide rows make long stores.
std::array<int, 3> tile_positions(const Layer& layer, int budget) {
    std::array<std::int64_t, 3> extent = {1, 1, 1};
    const int missing = 3 - layer.spatial_dims();
    const Dims out = layer.input.empty() ? Dims() : output_size(layer, layer.input);
    for (int axis = 0; axis < layer.spatial_dims(); ++axis)
        extent[static_cast<std::size_t>(axis + missing)] =
            out.empty() ? 1 << 10 : (out[axis] + layer.stride[axis] - 1) / layer.stride[axis];
    // Without a known size a 2D tile is 4 rows high, a 3D one 2x2: less halo than one long row.
    std::array<int, 3> positions = {1, 1, 1};
    const int preferred_width = layer.spatial_dims() == 1 ? budget : std::max(budget / 4, kLanes);
    positions[2] = std::min({budget, preferred_width, ceil_power_of_two(extent[2])});
    const int rows = budget / positions[2];
    positions[1] = std::min(layer.spatial_dims() == 3 ? std::max(rows / 2, 1) : rows, ceil_power_of_two(extent[1]));
    positions[0] = std::min(rows / positions[1], ceil_power_of_two(extent[0]));
    return positions;
}

}  // namespace

std::size_t DirectTile::shared_bytes(const Layer& layer) const {
    const auto axes = axes_3d(layer);
    std::int64_t window = 1;
    for (std::size_t a = 0; a < 3; ++a)
        window = saturating_product({window, positions[a] + halo(axes[a]).highest - halo(axes[a]).lowest});
    const auto rounded = [](std::int64_t floats) {
        const std::int64_t limit = std::int64_t{1} << 40;  // far beyond any shared memory, far below overflow
        return static_cast<std::size_t>((std::min(floats, limit) + 3) / 4 * 16);
    };
    const std::int64_t run = saturating_product({positions[2], column_phases});
    const std::int64_t rows = saturating_product({row_phases, positions[0], positions[1]});
    const std::int64_t pitch = saturating_product({rows, run}) + (layer.layout == Layout::channels_last ? 1 : 0);
    std::size_t bytes = rounded(saturating_product({channels(), pitch}));
    if (stage_input) bytes += rounded(saturating_product({channel_chunk, window}));
    if (stage_weights) bytes += rounded(saturating_product({channel_chunk, taps(layer), channels()}));
    return bytes;
}

Grid DirectTile::grid(const Layer& layer, const Shape& shape) const {
    const auto out = sizes_3d(output_size(layer, shape.input));
    const auto axes = axes_3d(layer);
    std::int64_t tiles = 1;
    for (std::size_t a = 0; a < 3; ++a) tiles *= ceil_div(ceil_div(out[a], axes[a].stride), positions[a]);
    return {tiles, layer.groups * ceil_div(layer.out_channels_per_group(), channels()), shape.batch};
}

std::string DirectTile::unsupported(const Layer& layer, const Arch& arch, bool) const {
    if (arch.number < 75) return fmt::format("direct needs sm_75 or newer, not {}", to_string(arch));
    // Wrong for every layer, so it is the text of the plan that is wrong.
    fields(*this,
           [](std::string_view key, std::string_view, const auto& value) { words::expect_range(key, value, 1, 4096); });
    if (saturating_product({positions[0], positions[1], positions[2]}) > 1 << 16)
        return "a tile has more than 65536 positions";
    if (block_positions() % positions_per_thread != 0)
        return fmt::format("{} positions do not divide by {} per thread", block_positions(), positions_per_thread);
    if (saturating_product({position_threads(), row_phases, column_phases, channel_vectors}) > 1024)
        return "a block has more than 1024 threads";
    if (positions_per_thread * channels_per_thread > kMaxAccumulators)
        return fmt::format("a thread has more than {} sums", kMaxAccumulators);
    if (const std::size_t bytes = shared_bytes(layer); bytes > shared_limit(arch))
        return fmt::format("a block needs {} bytes of shared memory, {} has {}", bytes, to_string(arch),
                           shared_limit(arch));
    return {};
}

DirectTile DirectTile::generic() {
    DirectTile tile;
    tile.positions_per_thread = tile.channels_per_thread = 1;
    tile.channel_chunk = 1;
    tile.stage_input = tile.stage_weights = false;
    tile.unroll = 1;
    return tile;
}

DirectTile DirectTile::standard(const Layer& layer, const Arch& arch) {
    DirectTile tile;
    const std::int64_t outputs = layer.out_channels_per_group();
    tile.channels_per_thread = std::min(8, floor_power_of_two(outputs));
    tile.positions_per_thread = 4;
    tile.positions = tile_positions(layer, kLanes * tile.positions_per_thread);
    while (tile.block_positions() % tile.positions_per_thread != 0 || tile.position_threads() < 8) {
        if (tile.positions_per_thread == 1) break;
        tile.positions_per_thread /= 2;  // a small image: fewer positions each, so that threads are left to share them
    }

    const auto axes = axes_3d(layer);
    const std::int64_t columns = axes[2].stride;
    const std::int64_t rows = axes[0].stride * axes[1].stride;
    int threads = tile.position_threads();
    tile.column_phases = static_cast<int>(std::min<std::int64_t>(columns, std::max(1, kTargetThreads / threads)));
    threads *= tile.column_phases;
    tile.row_phases = static_cast<int>(std::min<std::int64_t>(rows, std::max(1, kTargetThreads / threads)));
    threads *= tile.row_phases;
    tile.channel_vectors = std::min(floor_power_of_two(outputs / tile.channels_per_thread),
                                    floor_power_of_two(std::max(1, kTargetThreads / 2 / threads)));

    const std::int64_t passes =
        (columns + tile.column_phases - 1) / tile.column_phases * ((rows + tile.row_phases - 1) / tile.row_phases);
    // Where a pass uses a small part of the taps, staging all of them for each pass costs more than it saves.
    tile.stage_weights = passes <= 4 || taps(layer) <= 64;
    for (const bool stage_input : {true, false}) {
        tile.stage_input = stage_input;
        for (int chunk = std::min<int>(16, ceil_power_of_two(layer.in_channels_per_group())); chunk >= 1; chunk /= 2) {
            tile.channel_chunk = chunk;
            if (tile.shared_bytes(layer) <= kComfortableShared) return tile;
        }
        if (tile.stage_weights) {  // a very large kernel: read its weights through the L1 cache instead
            tile.stage_weights = false;
            for (int chunk = 4; chunk >= 1; chunk /= 2) {
                tile.channel_chunk = chunk;
                if (tile.shared_bytes(layer) <= std::min(kComfortableShared, shared_limit(arch))) return tile;
            }
            tile.stage_weights = true;
        }
    }
    tile.stage_input = tile.stage_weights = false;
    return tile;
}

}  // namespace convt_jit
