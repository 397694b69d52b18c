// Resources of an `implicit_gemm_sm90` tile: what templates/families/implicit_gemm_sm90/ works out from the same
// constants. Pure functions.
#pragma once

#include "plan/implicit_gemm_resources.h"
#include "plan/implicit_gemm_sm90.h"

#include <cstdint>
#include <string>

namespace convt_jit {

struct ImplicitGemmSm90Resources : BlockNeeds {
    int columns = 8, runs = 1;  // of the products of a warpgroup
    int steps = 1, parts = 1;   // of a chunk
    int chunks = 1;             // of one depth tap
    int tile_height = 0, tile_width = 0;
    int row_step = 1;               // input rows from one position to the next
    int row_taps = 1;               // input rows that a position meets, at most
    int set_row_taps = 1;           // that have stages of their own
    int row_phases = 1;             // that are tiles of their own
    int block_channels = 1;         // of output
    std::int64_t weight_stage = 0;  // bytes of packed weights of a chunk
    std::int64_t packed_bytes = 0;
    int squads = 1, batches = 1;  // of those who load
    int held = 1;                 // cells of a thread and batch, pairs of cells of 16-bit types
};

// Empty where the tile's numbers fit each other and the arch; then `resources` is set.
[[nodiscard]] std::string implicit_gemm_sm90_resources(const ImplicitGemmLayer& layer, const ImplicitGemmSm90Tile& tile,
                                                       const Arch& arch, ImplicitGemmSm90Resources& resources);

}  // namespace convt_jit
