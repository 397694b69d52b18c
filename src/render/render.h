// Render: (Layer, Plan, Arch) to one self-contained CUDA source. Pure, byte-for-byte deterministic.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/plan.h"

#include <string>
#include <vector>

namespace convt_jit {

struct Source {
    std::string text;                   // what NVRTC gets: prologue, device pieces, family, with #line marks
    std::string entry;                  // name of the kernel (extern "C")
    std::string constants;              // the baked constants as a short text, for error messages
    std::vector<std::string> others{};  // kernels that a launch may run before or after that one
};

// Throws UnsupportedError where a template that a family names is missing (an override directory that lacks it).
[[nodiscard]] Source render(const Layer& layer, const Plan& plan, const Arch& arch);

}  // namespace convt_jit
