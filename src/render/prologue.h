// Prologue: the constants of one kernel, rendered from templates/prologue.mustache.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/plan.h"

#include <string>

namespace convt_jit {

// Name of the kernel: the layer string in characters that an identifier may have, cut short with a digest where long.
[[nodiscard]] std::string entry_name(const Layer& layer, const Plan& plan);

// Name of the kernel that packs the weights for the one of that name.
[[nodiscard]] std::string pack_entry_name(const std::string& entry);

[[nodiscard]] std::string render_prologue(const Layer& layer, const Plan& plan, const Arch& arch);

}  // namespace convt_jit
