// Prologue: the constants of one kernel, rendered from templates/prologue.mustache.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/plan.h"

#include <string>
#include <vector>

namespace convt_jit {

// Name of the kernel: the layer string in characters that an identifier may have, cut short with a digest where long.
[[nodiscard]] std::string entry_name(const Layer& layer, const Plan& plan);

// Names of the kernels beside the one of that name: that packs its weights, that adds its partial sums.
[[nodiscard]] std::string pack_entry_name(const std::string& entry);
[[nodiscard]] std::string reduce_entry_name(const std::string& entry);
// Those that the plan has, in this order.
[[nodiscard]] std::vector<std::string> other_entry_names(const Layer& layer, const Plan& plan,
                                                         const std::string& entry);

[[nodiscard]] std::string render_prologue(const Layer& layer, const Plan& plan, const Arch& arch);

}  // namespace convt_jit
