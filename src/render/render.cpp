#include "render/render.h"

#include "plan/geometry.h"
#include "render/prologue.h"
#include "render/templates.h"
#include "render/wgmma.h"

#include <fmt/format.h>

#include <variant>

namespace convt_jit {
namespace {

// Pieces in the order in which they stand in the source: those of every family, and those that some families add.
constexpr const char* kPieces[] = {"device/args.cuh", "device/arithmetic.cuh", "device/memory.cuh",
                                   "device/numeric.cuh", "device/epilogue.cuh"};
constexpr const char* kTiledPieces[] = {"device/axis.cuh", "device/place.cuh", "device/store.cuh"};

// The pieces of a family's own folder, those that it has.
constexpr const char* kFamilyPieces[] = {"tile.cuh",  "weights.cuh", "loads.cuh",  "products.cuh", "sums.cuh",
                                         "lines.cuh", "strips.cuh",  "stores.cuh", "kernel.cu"};

void append(std::string& source, const std::string& name) {
    source += fmt::format("#line 1 \"{}\"\n", name);
    source += template_text(name);
    if (source.back() != '\n') source += '\n';
}

}  // namespace

Source render(const Layer& layer, const Plan& plan, const Arch& arch) {
    Source source;
    source.entry = entry_name(layer, plan);
    const std::string prologue = render_prologue(layer, plan, arch);
    source.constants = fmt::format("{} | {} | {}", to_string(layer), to_string(plan), to_string(arch));
    source.text = "#line 1 \"prologue\"\n" + prologue;
    for (const char* piece : kPieces) append(source.text, piece);
    const bool matrices = std::holds_alternative<ImplicitGemmTile>(plan.tile);
    const auto* const hopper = std::get_if<ImplicitGemmSm90Tile>(&plan.tile);
    if (matrices || hopper != nullptr || std::holds_alternative<UnrolledTile>(plan.tile))
        for (const char* piece : kTiledPieces) append(source.text, piece);
    if (matrices || hopper != nullptr) append(source.text, "device/mma.cuh");
    if (hopper != nullptr) {
        append(source.text, "device/hopper.cuh");
        source.text += "#line 1 \"device/wgmma.mustache\"\n" + render_wgmma(hopper->columns());
    }
    for (const char* piece : kFamilyPieces)
        if (const std::string name = fmt::format("families/{}/{}", family_name(plan), piece); has_template(name))
            append(source.text, name);
    if (packed_bytes(layer, plan) > 0) append(source.text, "device/pack.cuh");
    if (reduces(plan)) append(source.text, "device/reduce.cuh");
    source.others = other_entry_names(layer, plan, source.entry);
    return source;
}

}  // namespace convt_jit
