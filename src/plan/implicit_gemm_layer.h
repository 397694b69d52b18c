// ImplicitGemmLayer: what the tiles of both families on tensor cores follow from. Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/fold.h"
#include "plan/phased_axis.h"

#include <string>

namespace convt_jit {

// Tensor cores cut their sums off, which shortens one by some 4e-8 a step: so many steps at most may be added up before
// they join an f32 total.
constexpr int kMostSplitJoin = 8;

// The parts of a layer that the resources of all its tiles follow from.
struct ImplicitGemmLayer {
    std::string refusal;  // why no tile can serve the layer; nothing else is set then
    PhasedAxis horizontal;
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

}  // namespace convt_jit
