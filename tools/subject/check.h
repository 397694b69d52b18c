// Check: whether a kernel computes what the definition says.
#pragma once

#include "subject/tensors.h"

namespace convt_jit::tools {

struct Verdict {
    Errors errors;
    double allowed = 0;        // largest rel_l2 that is right
    const char* against = "";  // "host f64" or "device f64"
    [[nodiscard]] bool right() const { return errors.wrong_nonfinite == 0 && errors.rel_l2 <= allowed; }
};

// Multiplications of the definition, borders not subtracted.
[[nodiscard]] double products(const Layer& layer, const Shape& shape);

// Judges y, as it was downloaded. On a CUDA device the `reference` family evaluates the definition in f64; small layers
// are judged by the host's f64 reference, which shares no code with it.
[[nodiscard]] Verdict check(Engine& engine, const Device& device, const Layer& layer, const Shape& shape,
                            const HostTensors& host, const std::vector<unsigned char>& y);

}  // namespace convt_jit::tools
