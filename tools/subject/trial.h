// Trial: one layer's tensors on the card, with repeated random values, on which kernels are timed and judged.
#pragma once

#include "convt_jit/convt_jit.h"

#include <optional>
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

// How launches that are timed come to the device.
enum class Launching {
    plain,
    replayed  // as a graph with its flush and its events; plain where the driver records none
};

// Whether a kernel was slower than another in every pair of launches so far, and by so much that no more of them could
// help it: the fewer the pairs, the more.
[[nodiscard]] bool clearly_behind(const std::vector<double>& ms, const std::vector<double>& against_ms);

class Trial {
public:
    // `flush` is written before each launch: several times the size of the L2.
    Trial(Engine& engine, const Device& device, const Layer& layer, Buffer flush,
          WeightsAre weights = WeightsAre::constant, Launching launching = Launching::plain);

    // One kernel with all that a timed launch of it needs: its weights are packed, it has been launched once, and what
    // is replayed is recorded. A kernel that is timed for long keeps its own, as each recording has memory of its own.
    // Goes before the trial.
    class Timed {
    public:
        Timed(const Trial& trial, Kernel kernel);
        // Milliseconds of one launch, the L2 flushed before.
        [[nodiscard]] double once();

    private:
        void enqueue();
        const Trial& trial_;
        Kernel kernel_;
        Timer timer_;
        Recording recording_;  // goes before the kernel, whose memory it uses
    };

    [[nodiscard]] const Shape& shape() const { return shape_; }
    // Milliseconds of each launch, in ascending order, the L2 flushed before; y is poisoned before the first.
    [[nodiscard]] std::vector<double> time(const Kernel& kernel, int repeats);
    [[nodiscard]] static std::vector<double> time(Timed& kernel, int repeats);
    // The two by turns, so that a clock that drifts concerns both alike, the L2 flushed before each launch:
    // milliseconds in the order of the launches. Ends early where `kernel` is clearly behind.
    struct Pairs {
        std::vector<double> ms, against_ms;
    };
    [[nodiscard]] static Pairs compare(Timed& kernel, Timed& against, int launches);
    // Now, not with the first judgement: it may take long.
    void know_reference();
    // Launches it once more on a poisoned y, and judges that.
    [[nodiscard]] Errors judge(const Kernel& kernel);
    // Launches it until two groups of launches take the same time, or half a second is over.
    static void settle(Timed& kernel);
    // Errors of what the last launch left in y, against the `reference` family: of all samples, or where that is too
    // much of the first ones and the last ones. It is compared on the device.
    [[nodiscard]] Errors judge();

private:
    // So many samples from one on.
    struct Part {
        std::int64_t first = 0, samples = 0;
    };
    [[nodiscard]] Tensors pointers(const void* y, std::int64_t sample) const;
    [[nodiscard]] std::vector<Part> judged_parts() const;
    [[nodiscard]] std::size_t elements_of(const Part& part) const;

    Engine& engine_;
    Device device_;
    Layer layer_;
    Shape shape_;
    WeightsAre weights_;
    Launching launching_;
    Stream stream_;
    Buffer flush_, x_, w_, bias_, residual_, scale_, shift_, y_;
    std::optional<DeviceComparison> comparison_;  // none before the first judgement
    std::vector<Part> parts_;                     // that are judged
    std::vector<Buffer> want_;                    // f64, one for each of them
};

// What a GPU needs for a trial's flush.
[[nodiscard]] Buffer flush_of(const Device& device);

}  // namespace convt_jit::tools
