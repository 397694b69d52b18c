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
    // The two by turns, so that a clock that drifts concerns both alike, the L2 flushed before each launch:
    // milliseconds in the order of the launches. Ends after the first pair where `kernel` is `hopeless` times as slow.
    // Warms up until the clock has settled.
    struct Pairs {
        std::vector<double> ms, against_ms;
    };
    [[nodiscard]] Pairs compare(const Kernel& kernel, const Kernel& against, int launches, double hopeless);
    // Now, not with the first judgement: it may take long.
    void know_reference();
    // Launches it once more on a poisoned y, and judges that.
    [[nodiscard]] Errors judge(const Kernel& kernel);
    // Launches it until two groups of launches take the same time, or half a second is over.
    void settle(const Kernel& kernel);
    // Errors of the first and the last sample of what the last launch left in y, against the `reference` family.
    [[nodiscard]] Errors judge();

private:
    // One launch, the L2 flushed before.
    [[nodiscard]] double time_once(const Kernel& kernel);
    // What must be done before the first launch that counts.
    void ready(const Kernel& kernel);
    [[nodiscard]] Tensors pointers(const void* y, std::int64_t sample) const;

    [[nodiscard]] std::vector<double> reference() const;

    Engine& engine_;
    Device device_;
    Layer layer_;
    Shape shape_;
    WeightsAre weights_;
    Stream stream_;
    Timer timer_;
    Buffer flush_, x_, w_, bias_, residual_, scale_, shift_, y_;
    unsigned char flushed_with_ = 0;
    std::vector<double> want_;  // of the first and the last sample; empty before the first judgement
};

// What a GPU needs for a trial's flush.
[[nodiscard]] Buffer flush_of(const Device& device);

}  // namespace convt_jit::tools
