// The modelled time of an `implicit_gemm_sm90` tile. A pure function.
#pragma once

#include "plan/implicit_gemm_sm90_resources.h"
#include "plan/workload.h"

namespace convt_jit {

// Clock cycles of a whole GPU, in the unit of the other families' models.
[[nodiscard]] double implicit_gemm_sm90_cycles(const ImplicitGemmLayer& layer, const Workload& work,
                                               const ImplicitGemmSm90Tile& tile,
                                               const ImplicitGemmSm90Resources& resources);

}  // namespace convt_jit
