// Fingerprint: a layer without the sizes that are given at launch, as canonical text. Two layers with the same
// fingerprint are served by the same kernels.
#pragma once

#include "convt_jit/layer.h"

#include <string>

namespace convt_jit {

// The canonical layer string without n and in.
[[nodiscard]] std::string fingerprint(const Layer& layer);

}  // namespace convt_jit
