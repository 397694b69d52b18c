#include "plan/geometry.h"

#include "convt_jit/error.h"
#include "plan/volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace convt_jit {
namespace {

constexpr std::uint32_t kSideThreads = 256;  // of the kernels beside the main one
constexpr std::int64_t kMax32 = std::numeric_limits<std::int32_t>::max();

}  // namespace

Geometry geometry(const Layer& layer, const Plan& plan, const Shape& shape, int multiprocessors) {
    return std::visit(
        [&](auto tile) {
            if constexpr (requires { tile.processors; })
                tile.processors = std::min(tile.processors, std::max(multiprocessors, 1));
            return Geometry{tile.grid(layer, shape), static_cast<std::uint32_t>(tile.threads(layer)),
                            tile.shared_bytes(layer)};
        },
        plan.tile);
}

std::uint32_t threads_per_block(const Layer& layer, const Plan& plan) {
    return std::visit([&](const auto& tile) { return static_cast<std::uint32_t>(tile.threads(layer)); }, plan.tile);
}

std::size_t shared_bytes_per_block(const Layer& layer, const Plan& plan) {
    return std::visit([&](const auto& tile) { return tile.shared_bytes(layer); }, plan.tile);
}

std::int64_t packed_bytes(const Layer& layer, const Plan& plan) {
    return std::visit(
        [&](const auto& tile) -> std::int64_t {
            if constexpr (requires { tile.packed_bytes(layer); })
                return tile.packed_bytes(layer);
            else
                return 0;
        },
        plan.tile);
}

Geometry pack_geometry(const Layer& layer, const Plan& plan) {
    return {{ceil_div(packed_bytes(layer, plan), 16 * kSideThreads), 1, 1}, kSideThreads, 0};
}

bool reduces(const Plan& plan) {
    return std::visit(
        [](const auto& tile) {
            if constexpr (requires { tile.reduces(); })
                return tile.reduces();
            else
                return false;
        },
        plan.tile);
}

std::int64_t workspace_bytes(const Layer& layer, const Plan& plan, const Shape& shape) {
    return std::visit(
        [&](const auto& tile) -> std::int64_t {
            if constexpr (requires { tile.reduces(); })
                return tile.workspace_bytes(layer, shape);
            else
                return 0;
        },
        plan.tile);
}

Geometry reduce_geometry(const Layer& layer, const Plan& plan, const Shape& shape) {
    return std::visit(
        [&](const auto& tile) -> Geometry {
            if constexpr (requires { tile.reduces(); })
                return {tile.reduce_grid(layer, shape), kSideThreads, 0};
            else
                return {};
        },
        plan.tile);
}

int samples_at_once(const Plan& plan) {
    return std::visit(
        [](const auto& tile) {
            if constexpr (requires { tile.images; })
                return std::max(tile.images, 1);
            else
                return 1;
        },
        plan.tile);
}

bool needs_index64(const Layer& layer, const Shape& shape, int samples) {
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
    return in_sample > kMax32 / samples || out_sample > kMax32 / samples;
}

void check_index_width(const Layer& layer, const Plan& plan, const Shape& shape) {
    if (plan.index64 || !needs_index64(layer, shape, samples_at_once(plan))) return;
    throw LayerError(
        "input", to_string(shape.input),
        fmt::format("sizes of which one sample has 32-bit offsets (this kernel was prepared without such a "
                    "large input; prepare it with a layer that knows its input size, or with the plan "
                    "option index=64)"));
}

}  // namespace convt_jit
