// ReferenceTile: the `reference` family, the definition read literally, one thread per output, sums and output in f64.
// It checks the other families on the device; y must be an f64 tensor.
#pragma once

namespace convt_jit {

struct ReferenceTile {
    int threads = 128;
    friend bool operator==(const ReferenceTile&, const ReferenceTile&) = default;
};

}  // namespace convt_jit
