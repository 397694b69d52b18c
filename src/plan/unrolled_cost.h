// Cost: the modelled time of an `unrolled` tile, by which candidates are ordered. Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/unrolled_resources.h"

#include <array>
#include <cstdint>

namespace convt_jit {

// How much there is to do, as far as the layer knows it.
struct UnrolledWork {
    std::int64_t samples = 1;               // batch x output depth
    std::array<std::int64_t, 2> positions;  // height, width
    int groups = 1;
    int store_width = 4;  // elements of the widest access that rows of outputs allow

    // Sizes that the layer does not know are taken to be large, and those that it knows coarsely.
    [[nodiscard]] static UnrolledWork make(const Layer& layer);
};

// Clock cycles of a whole GPU, up to a factor: fit to compare tiles of one layer.
[[nodiscard]] double unrolled_cycles(const UnrolledLayer& layer, const UnrolledWork& work, const UnrolledTile& tile,
                                     const UnrolledResources& resources, const Arch& arch);

}  // namespace convt_jit
