// Trial: one layer's tensors on the card, on which candidates are timed and judged.
#pragma once

#include "convt_jit/convt_jit.h"

#include <vector>

namespace convt_jit::tools {

class Trial {
public:
    Trial(Engine& engine, const Device& device, const Layer& layer);

    // Milliseconds of each launch, the L2 flushed before; y is poisoned before the first.
    [[nodiscard]] std::vector<double> time(const Kernel& kernel, int repeats);
    // Errors of the first and the last sample of what the last launch left in y.
    [[nodiscard]] Errors judge() const;

private:
    [[nodiscard]] Tensors pointers(const void* y, std::int64_t sample) const;

    Device device_;
    Layer layer_;
    Shape shape_;
    Stream stream_;
    Buffer flush_, x_, w_, bias_, residual_, scale_, shift_, y_;
    std::vector<double> want_;  // first and last sample
};

}  // namespace convt_jit::tools
