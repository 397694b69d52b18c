// Resources of an `unrolled` tile: what templates/families/unrolled/ works out from the same constants, and what the
// compiler will make of it. Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/multiprocessor.h"
#include "plan/phased_axis.h"
#include "plan/unrolled.h"
#include "plan/volume.h"

#include <cstdint>
#include <string>

namespace convt_jit {

// The parts of a layer that the resources of all its tiles follow from.
struct UnrolledLayer {
    std::string refusal;  // why no tile can serve the layer; nothing else is set then
    PhasedAxis vertical, horizontal;
    int depth_taps = 1;  // of one output depth, at most
    int in_per_group = 1, out_per_group = 1;
    int element_bytes = 4;
    [[nodiscard]] static UnrolledLayer make(const Layer& layer);
};

struct UnrolledResources : BlockNeeds {
    int turns = 1;
    int chunks = 1;  // at most
    bool resident = false;
    int tile_height = 0, tile_width = 0;  // of the staged input
    std::int64_t sums = 0;                // of one thread
    int window_height = 0, window_width = 0;
    std::int64_t products = 0;  // unrolled, over all row phases that a block's code has
};

// Empty where the tile's numbers fit each other; then `resources` is set.
[[nodiscard]] std::string unrolled_resources(const UnrolledLayer& layer, const UnrolledTile& tile,
                                             UnrolledResources& resources);
// Empty where the arch has what the tile needs.
[[nodiscard]] std::string unrolled_shortage(const UnrolledResources& resources, const Arch& arch);

}  // namespace convt_jit
