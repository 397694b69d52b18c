// Gpu: what the tests in this folder share: a CUDA device or a reason to skip, and one layer with its tensors on it.
#pragma once

#include "conformance/trials.h"
#include "convt_jit/convt_jit.h"
#include "gpu/cuda_driver.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace convt_jit::test {

// Skips, with the reason, where there are fewer CUDA devices.
#define CONVT_NEEDS_GPUS(count)                                                                             \
    do {                                                                                                    \
        std::string why_none;                                                                               \
        const int gpus = convt_jit::Device::cuda_count(&why_none);                                          \
        if (gpus < (count))                                                                                 \
            GTEST_SKIP() << "needs " << (count) << " CUDA devices, there are " << gpus << ". " << why_none; \
    } while (false)

// Skips where device 0 is older than what kernels on tensor cores need.
#define CONVT_NEEDS_TENSOR_CORES()                                                                               \
    do {                                                                                                         \
        if (std::stoi(convt_jit::Device::cuda(0).arch().substr(3)) < 80) GTEST_SKIP() << "needs sm_80 or newer"; \
    } while (false)

// Skips where device 0 has no wgmma.
#define CONVT_NEEDS_WARPGROUPS()                                                                  \
    do {                                                                                          \
        if (convt_jit::Device::cuda(0).arch() != "sm_90") GTEST_SKIP() << "needs a GPU of sm_90"; \
    } while (false)

// The layer that the public trials call K0, and what it gives for the integer fill.
[[nodiscard]] inline Layer k0() { return parse_layer("n1 c4 o4 in8x8 k4x4 s2 p1"); }
inline constexpr const char* kK0Digest = "645399ba524875ec";

// A compiler for each test: nothing from a disk, nothing from an earlier test.
[[nodiscard]] inline Engine fresh_engine() {
    EngineOptions options;
    options.cache_dir = "";
    return Engine(options);
}

[[nodiscard]] inline PrepareOptions on(const Device& device) {
    PrepareOptions options;
    options.device = device;
    return options;
}

// x, w and y of an f32 layer on a device, filled with the integers of the trials; y is poisoned.
class OnDevice {
public:
    OnDevice(const Device& device, const Layer& of)
        : layer(of),
          shape(known_shape(of)),
          host(hash_fill(of, shape)),
          x_(put(device, host.x)),
          w_(put(device, host.w)),
          y_(device, static_cast<std::size_t>(sizes(of, shape).y) * sizeof(float)) {
        y_.fill(0xFF);
    }
    [[nodiscard]] Tensors tensors() const {
        Tensors result;
        result.x = x_.data();
        result.w = w_.data();
        result.y = y_.data();
        return result;
    }
    [[nodiscard]] std::vector<double> y() const {
        std::vector<unsigned char> bytes(y_.bytes());
        y_.download(bytes.data(), bytes.size());
        return decode(DType::f32, bytes);
    }
    void poison() const { y_.fill(0xFF); }

    const Layer layer;
    const Shape shape;
    const HostTensors host;

private:
    [[nodiscard]] static Buffer put(const Device& device, const std::vector<double>& values) {
        const std::vector<unsigned char> bytes = encode(DType::f32, values);
        Buffer buffer(device, bytes.size());
        buffer.upload(bytes.data(), bytes.size());
        return buffer;
    }
    Buffer x_, w_, y_;
};

}  // namespace convt_jit::test
