// Scatter: the definition of the operation, each input element added into the outputs that it reaches.
#pragma once

#include "convt_jit/reference.h"

namespace convt_jit {

// The result does not depend on the number of threads, to the bit.
[[nodiscard]] std::vector<double> scatter(const Layer& layer, const Shape& shape, const HostTensors& tensors,
                                          int threads);

}  // namespace convt_jit
