#include "convt_jit/error.h"
#include "plan/geometry.h"
#include "plan/plan.h"
#include "plan/volume.h"

#include <fmt/format.h>

#include <limits>

namespace convt_jit {
namespace {

// Constants of a layer are baked as 32-bit integers. Anything beyond would not fit a GPU's memory anyway.
void check_constants(const Layer& layer) {
    constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
    for (const std::int64_t n : {layer.in_channels, layer.out_channels, taps(layer)})
        if (n > kMax)
            throw UnsupportedError(
                fmt::format("{}: no family serves more than {} channels or taps", to_string(layer), kMax));
}

// Whether 32 bits hold every offset: from the sizes that are known, else from the smallest that the layer can have.
bool wants_index64(const Layer& layer, int samples) {
    Shape shape{1, layer.input};
    if (shape.input.empty()) {
        // The smallest input whose output is not empty; larger ones are checked at launch.
        shape.input = Dims::filled(layer.spatial_dims(), 1);
        for (int a = 0; a < layer.spatial_dims(); ++a) {
            const std::int64_t cropped = layer.pad_begin[a] + layer.pad_end[a] -
                                         layer.dilation[a] * (layer.kernel[a] - 1) - layer.output_padding[a];
            if (cropped > 0) shape.input[a] += (cropped + layer.stride[a] - 1) / layer.stride[a];
        }
    }
    return needs_index64(layer, shape, samples);
}

// The tile of the least modelled time. `direct` has no model: it serves what no other family does.
Tile standard_tile(const Layer& layer, const Arch& arch, bool exact_nonfinite) {
    Tile best = DirectTile::standard(layer, arch);
    double least = std::numeric_limits<double>::infinity();
    const auto consider = [&](const auto& tile) {
        if (!tile.unsupported(layer, arch, exact_nonfinite).empty()) return;
        const double cycles = tile.modelled_cycles(layer, arch);
        if (!(cycles < least)) return;
        least = cycles;
        best = tile;
    };
    consider(UnrolledTile::standard(layer, arch));
    // Tensor cores sum over 8 channels at a time. With fewer they have little to give, and short sums nothing to hide
    // the last place in that three products of tf32 lose.
    if (layer.in_channels_per_group() >= 8) {
        consider(ImplicitGemmTile::standard(layer, arch));
        consider(ImplicitGemmSm90Tile::standard(layer, arch));
    }
    return best;
}

}  // namespace

double modelled_cycles(const Plan& plan, const Layer& layer, const Arch& arch) {
    return std::visit(
        [&](const auto& tile) {
            if constexpr (requires { tile.modelled_cycles(layer, arch); })
                return tile.modelled_cycles(layer, arch);
            else
                return std::numeric_limits<double>::infinity();
        },
        plan.tile);
}

Arch compile_arch(const Plan& plan, const Arch& arch) {
    const bool wgmma = std::holds_alternative<ImplicitGemmSm90Tile>(plan.tile);
    return {arch.number, wgmma ? 'a' : char{0}};
}

Arch simulated_arch(std::string_view plan) {
    return plan.substr(0, plan.find(' ')) == ImplicitGemmSm90Tile::kFamily ? Arch{90, 0} : Arch{80, 0};
}

Plan choose(const Layer& layer, const Arch& arch, const PlanOptions& options) {
    validate(layer);
    check_constants(layer);
    Plan plan;
    if (options.plan.empty())
        plan.tile = standard_tile(layer, arch, options.exact_nonfinite);
    else
        plan = parse_plan(options.plan, layer, arch);
    plan.index64 = plan.index64 || wants_index64(layer, samples_at_once(plan));
    plan.exact_nonfinite = plan.exact_nonfinite || options.exact_nonfinite;
    const std::string why =
        std::visit([&](const auto& tile) { return tile.unsupported(layer, arch, plan.exact_nonfinite); }, plan.tile);
    if (!why.empty())
        throw UnsupportedError(fmt::format("plan \"{}\" cannot serve {}: {}", to_string(plan), to_string(layer), why));
    return plan;
}

std::vector<Plan> candidates(const Layer& layer, const Arch& arch, std::size_t most_per_family,
                             const PlanOptions& options) {
    Plan plan = choose(layer, arch, options);
    std::vector<Plan> plans = {plan};
    const auto add = [&](const auto& tile) {
        plan.tile = tile;
        if (plan != plans.front() && tile.unsupported(layer, arch, plan.exact_nonfinite).empty()) plans.push_back(plan);
    };
    add(DirectTile::standard(layer, arch));
    for (const ImplicitGemmTile& tile : implicit_gemm_candidates(layer, arch, most_per_family)) add(tile);
    for (const ImplicitGemmSm90Tile& tile : implicit_gemm_sm90_candidates(layer, arch, most_per_family)) add(tile);
    for (const UnrolledTile& tile : unrolled_candidates(layer, arch, most_per_family)) add(tile);
    return plans;
}

Plan generic_plan(const Plan& plan, const Layer& layer, const Arch& arch) {
    if (std::holds_alternative<ReferenceTile>(plan.tile)) return plan;
    const DirectTile tile = DirectTile::generic();
    return tile.unsupported(layer, arch, plan.exact_nonfinite).empty() ? Plan{tile, plan.index64, plan.exact_nonfinite}
                                                                       : plan;
}

}  // namespace convt_jit
