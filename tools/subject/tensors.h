// Tensors of one layer on a device, with random data, ready to be launched on.
#pragma once

#include "convt_jit/convt_jit.h"

#include <cstdint>
#include <string>
#include <vector>

namespace convt_jit::tools {

// Says what its tensors take on the host, where they are all kept as f64.
[[nodiscard]] std::string no_host_memory(const Layer& layer, const Shape& shape);

class DeviceTensors {
public:
    // y has elements of `y_element` bytes and is poisoned with 0xFF, a NaN in every dtype.
    DeviceTensors(const Device& device, const Layer& layer, const HostTensors& host, std::int64_t y_elements,
                  std::size_t y_element);

    // Pointers for a launch on the whole tensors.
    [[nodiscard]] Tensors pointers() const;
    void poison() const { y_.fill(0xff); }
    [[nodiscard]] std::vector<unsigned char> download_y() const;

private:
    Layer layer_;
    Buffer x_, w_, bias_, residual_, scale_, shift_, y_;
};

// A buffer like random_tensors', but with only some million different values, repeated: quick for tensors of gigabytes,
// where the figures matter and every element has been checked elsewhere.
[[nodiscard]] Buffer repeated_random(const Device& device, DType dtype, std::int64_t elements, double deviation,
                                     std::uint64_t seed);

}  // namespace convt_jit::tools
