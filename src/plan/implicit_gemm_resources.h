// Resources of an `implicit_gemm` tile: what templates/families/implicit_gemm/ works out from the same constants, and
// what the compiler will make of it. Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/implicit_gemm.h"
#include "plan/implicit_gemm_layer.h"
#include "plan/multiprocessor.h"

#include <cstdint>
#include <string>

namespace convt_jit {

constexpr double kMostPackedBytes = 0x1p39;  // more than any GPU has

struct ImplicitGemmResources : BlockNeeds {
    int warp_m = 1, warp_n = 1;  // fragments of one warp
    int warp_rows = 1;           // that these positions lie in
    bool shares_rows = false;    // what a warp reads of an input row serves all row taps
    int steps = 1;               // of a chunk
    int slots = 1;               // column taps, or pairs of them where a chunk has half a step
    int chunks = 1;              // of a block, at most
    int tile_height = 0, tile_width = 0;
    std::int64_t products = 0;  // mma that are unrolled
    std::int64_t packed_bytes = 0;
};

// Empty where the tile's numbers fit each other; then `resources` is set.
[[nodiscard]] std::string implicit_gemm_resources(const ImplicitGemmLayer& layer, const ImplicitGemmTile& tile,
                                                  ImplicitGemmResources& resources);
// Empty where the arch has what the tile needs.
[[nodiscard]] std::string implicit_gemm_shortage(const ImplicitGemmResources& resources, const Arch& arch);

}  // namespace convt_jit
