// Resources of an `implicit_gemm` tile: what templates/families/implicit_gemm/ works out from the same constants, and
// what the compiler will make of it. Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/fold.h"
#include "plan/implicit_gemm.h"
#include "plan/multiprocessor.h"
#include "plan/unrolled_resources.h"

#include <cstdint>
#include <string>

namespace convt_jit {

constexpr double kMostPackedBytes = 0x1p39;  // more than any GPU has

// The parts of a layer that the resources of all its tiles follow from.
struct ImplicitGemmLayer {
    std::string refusal;  // why no tile can serve the layer; nothing else is set then
    UnrolledAxis horizontal;
    int taps_h = 1;           // of one row phase, at most
    bool same_taps_h = true;  // all row phases that have taps have as many
    int reach_h = 0;          // rows between the first tap of a row phase and the last
    int row_phases = 1;       // of the output
    AxisParameters vertical;
    double mean_taps_h = 1;  // over the row phases
    int used_rows = 1;       // row phases that have taps
    int depth_taps = 1;      // of one output depth, at most
    int depth_kernel = 1;    // of all
    double mean_depth_taps = 1;
    int groups = 1, in_per_group = 1, out_per_group = 1;
    int fold = 1;       // rows of the product that are outputs of one channel
    int fold_rows = 1;  // rows of outputs among them
    int element_bytes = 4;
    bool split = false;  // f32 factors are sums of two tf32 numbers
    bool residual = false;

    [[nodiscard]] int word_channels() const { return 4 / element_bytes; }
    // Output channels of a group whose sums a block of so many rows has, and blocks that have all of them.
    [[nodiscard]] int outputs_of(int block_channels) const { return block_channels / fold; }
    [[nodiscard]] int blocks_of(int block_channels) const {
        return (out_per_group + outputs_of(block_channels) - 1) / outputs_of(block_channels);
    }
    // Axes, phases and taps are those of the folded layer.
    [[nodiscard]] static ImplicitGemmLayer make(const Layer& layer, const Fold& fold = {1, 1});
};

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
