// Cost: the modelled time of an `unrolled` tile, by which candidates are ordered. Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/unrolled_resources.h"
#include "plan/workload.h"

namespace convt_jit {

// Clock cycles of a whole GPU, in one unit for all families that have a model.
[[nodiscard]] double unrolled_cycles(const UnrolledLayer& layer, const Workload& work, const UnrolledTile& tile,
                                     const UnrolledResources& resources, const Arch& arch);

}  // namespace convt_jit
