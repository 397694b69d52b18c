// Workload: how much there is to do for a layer, as far as it is known. Pure functions.
#pragma once

#include "convt_jit/layer.h"

#include <array>
#include <cstdint>

namespace convt_jit {

struct Workload {
    std::int64_t samples = 1;               // batch x output depth
    std::array<std::int64_t, 2> positions;  // height, width
    int groups = 1;
    int store_width = 4;  // elements of the widest access that rows of outputs allow

    // Sizes that the layer does not know are taken to be large, and those that it knows coarsely.
    [[nodiscard]] static Workload make(const Layer& layer);
};

}  // namespace convt_jit
