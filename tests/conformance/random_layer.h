// RandomLayer: any valid layer, with unequal axes, for property tests.
#pragma once

#include "convt_jit/convt_jit.h"

#include <cstdint>

namespace convt_jit::test {

struct RandomLayer {
    Layer layer;  // knows its sizes
    Shape shape;
    bool exact_nonfinite = false;
    bool residual_is_y = false;
    bool forget_sizes = false;
};

// The same layer for the same seed, on every platform. `largest`: products of the definition.
[[nodiscard]] RandomLayer random_layer(std::uint64_t seed, double largest);

}  // namespace convt_jit::test
