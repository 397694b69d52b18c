#include "render/render.h"

#include "render/prologue.h"
#include "render/templates.h"

#include <fmt/format.h>

namespace convt_jit {
namespace {

// The pieces of a family, in the order in which they stand in the source.
constexpr const char* kPieces[] = {"device/args.cuh", "device/arithmetic.cuh", "device/memory.cuh",
                                   "device/numeric.cuh", "device/epilogue.cuh"};

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
    append(source.text, fmt::format("families/{}.cu", family_name(plan)));
    return source;
}

}  // namespace convt_jit
