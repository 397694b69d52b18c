// Check: one layer, launched on a device with guarded and poisoned tensors, against the definition in f64.
#pragma once

#include "convt_jit/convt_jit.h"

#include <cstdint>
#include <string>
#include <vector>

namespace convt_jit::test {

struct RunOptions {
    PrepareOptions prepare;
    std::int64_t misalign = 0;   // elements by which every tensor starts off a 256-byte boundary
    bool residual_is_y = false;  // the residual is read from y itself
    bool forget_sizes = false;   // the layer that is prepared knows neither batch nor input size
    // Samples of the tensors that are given; the launch repeats them until the shape's batch is full. 0: all.
    // Every repetition must come out bit-equal to the first. An odd number, so that no wrap at a power of two hides.
    std::int64_t period = 0;
};

// Prepares, uploads, launches and decodes y (its first `period` samples). Every tensor lies between guard bytes, y is
// filled with 0xFF (a NaN in each dtype) before. Throws std::runtime_error where a guard or an input was overwritten or
// a repeated sample differs, and whatever the library throws.
[[nodiscard]] std::vector<double> run(Engine& engine, const Device& device, const Layer& layer, const Shape& shape,
                                      const HostTensors& tensors, const RunOptions& options = {});

// The same by the `reference` family, whose y is f64.
[[nodiscard]] std::vector<double> device_reference(Engine& engine, const Device& device, const Layer& layer,
                                                   const Shape& shape, const HostTensors& tensors);

// Empty where every element is as near to `want` as the layer's arithmetic allows, else what is wrong and where.
[[nodiscard]] std::string differences(const Layer& layer, const std::vector<double>& got,
                                      const std::vector<double>& want);

// Multiplications of the definition, borders not subtracted.
[[nodiscard]] double products(const Layer& layer, const Shape& shape);

struct Against {
    bool host = true;     // reference()
    bool device = false;  // the `reference` family on the same device
};
// random_tensors from `seed`, run(), differences(); tensors are aligned for even seeds and misaligned for odd ones.
// Empty where all is right; else one text with the layer string, the seed and the reason. Never throws.
[[nodiscard]] std::string check(Engine& engine, const Device& device, const Layer& layer, const Shape& shape,
                                std::uint64_t seed, Against against = {}, RunOptions options = {});

}  // namespace convt_jit::test
