// ReferenceTile: the `reference` family, the definition read literally, one thread per output, sums and output in f64.
// It checks the other families on the device; y must be an f64 tensor.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/grid.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace convt_jit {

struct ReferenceTile {
    static constexpr std::string_view kFamily = "reference";

    int block_threads = 128;

    template <class Tile, class Visit>
    static void fields(Tile& t, const Visit& visit) {
        visit("threads", "THREADS", t.block_threads);
    }

    // What every family answers (src/plan/plan.h).
    [[nodiscard]] static ReferenceTile standard(const Layer&, const Arch&) { return {}; }
    [[nodiscard]] std::string unsupported(const Layer& layer, const Arch& arch, bool exact_nonfinite) const;
    [[nodiscard]] int threads(const Layer&) const { return block_threads; }
    [[nodiscard]] std::size_t shared_bytes(const Layer&) const { return 0; }
    [[nodiscard]] Grid grid(const Layer& layer, const Shape& shape) const;
    friend bool operator==(const ReferenceTile&, const ReferenceTile&) = default;
};

}  // namespace convt_jit
