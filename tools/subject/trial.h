// Trial: one layer's tensors on the card, with repeated random values, on which kernels are timed and judged.
#pragma once

#include "convt_jit/convt_jit.h"

#include <string>
#include <vector>

namespace convt_jit::tools {

// What launches are told of their weights.
enum class WeightsAre {
    constant,  // as in inference: kernels pack them once, and their time is left out
    changing   // as in training: kernels pack them at each launch
};
// What a kernel makes of it: "as they are" where it packs none, "packed once", "packed each time".
[[nodiscard]] std::string weights_text(const KernelInfo& info, WeightsAre weights);

class Trial {
public:
    // `flush` is written before each launch: several times the size of the L2.
    Trial(Engine& engine, const Device& device, const Layer& layer, Buffer flush,
          WeightsAre weights = WeightsAre::constant);

    [[nodiscard]] const Shape& shape() const { return shape_; }
    // Milliseconds of each launch, in ascending order, the L2 flushed before; y is poisoned before the first.
    [[nodiscard]] std::vector<double> time(const Kernel& kernel, int repeats);
    // Errors of the first and the last sample of what the last launch left in y, against the `reference` family.
    [[nodiscard]] Errors judge();

private:
    [[nodiscard]] Tensors pointers(const void* y, std::int64_t sample) const;

    [[nodiscard]] std::vector<double> reference() const;

    Engine& engine_;
    Device device_;
    Layer layer_;
    Shape shape_;
    WeightsAre weights_;
    Stream stream_;
    Buffer flush_, x_, w_, bias_, residual_, scale_, shift_, y_;
    std::vector<double> want_;  // of the first and the last sample; empty before the first judgement
};

// What a GPU needs for a trial's flush.
[[nodiscard]] Buffer flush_of(const Device& device);

}  // namespace convt_jit::tools
