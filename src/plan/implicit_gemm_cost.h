// Cost: the modelled time of an `implicit_gemm` tile, by which candidates are ordered. Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/implicit_gemm_resources.h"
#include "plan/workload.h"

namespace convt_jit {

// Blocks of a launch, as far as the sizes are known.
[[nodiscard]] double implicit_gemm_blocks(const ImplicitGemmLayer& layer, const Workload& work,
                                          const ImplicitGemmTile& tile);

// Clock cycles of a whole GPU, in the same unit as unrolled_cycles().
[[nodiscard]] double implicit_gemm_cycles(const ImplicitGemmLayer& layer, const Workload& work,
                                          const ImplicitGemmTile& tile, const ImplicitGemmResources& resources,
                                          const Arch& arch);

}  // namespace convt_jit
