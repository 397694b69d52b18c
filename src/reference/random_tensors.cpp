#include "convt_jit/reference.h"
#include "reference/number_format.h"
#include "reference/parallel.h"

#include <algorithm>
#include <cmath>

namespace convt_jit {
namespace {

// SplitMix64 (Steele, Lea & Flood 2014) of a counter: each element is independent of how many threads fill a tensor.
std::uint64_t random_bits(std::uint64_t counter) noexcept {
    std::uint64_t z = counter * 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

// Nearly normal, mean 0 and variance 1: four uniform numbers added up. Integers and one product, where Box-Muller would
// make the numbers depend on the machine's logarithm.
double normal(std::uint64_t counter) noexcept {
    const std::uint64_t bits = random_bits(counter);
    const std::uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    const double sqrt3 = 1.7320508075688772;  // 1 / sqrt(4 * 1/12)
    return (static_cast<double>(sum) - 2 * 65535.0) * (sqrt3 / 65536.0);
}

struct Source {
    std::uint64_t seed;
    std::uint64_t tensor;

    [[nodiscard]] std::vector<double> fill(std::int64_t elements, DType dtype, double mean, double deviation) const {
        constexpr std::int64_t piece = 1 << 16;
        const std::uint64_t origin = random_bits(seed * 8 + tensor);
        std::vector<double> values(static_cast<std::size_t>(elements));
        parallel_for((elements + piece - 1) / piece, hardware_threads(), [&](std::int64_t i) {
            for (auto j = static_cast<std::uint64_t>(i * piece);
                 j < static_cast<std::uint64_t>(std::min(elements, (i + 1) * piece)); ++j)
                values[j] = rounded(dtype, mean + deviation * normal(origin + j));
        });
        return values;
    }
};

// How many products an output element is the sum of, on average.
double products_per_output(const Layer& layer) {
    auto products = static_cast<double>(layer.in_channels_per_group());
    for (int axis = 0; axis < layer.spatial_dims(); ++axis)
        products *= static_cast<double>(layer.kernel[axis]) / static_cast<double>(layer.stride[axis]);
    return std::max(products, 1.0);
}

}  // namespace

HostTensors random_tensors(const Layer& layer, const Shape& shape, std::uint64_t seed) {
    const Sizes size = sizes(layer, shape);
    HostTensors tensors;
    tensors.x = Source{seed, 0}.fill(size.x, layer.dtype, 0, 1);
    tensors.w = Source{seed, 1}.fill(size.w, layer.dtype, 0, 1 / std::sqrt(products_per_output(layer)));
    if (layer.bias) tensors.bias = Source{seed, 2}.fill(size.channels, layer.dtype, 0, 1);
    if (layer.epilogue.residual) tensors.residual = Source{seed, 3}.fill(size.y, layer.dtype, 0, 1);
    if (layer.epilogue.affine) {
        tensors.scale = Source{seed, 4}.fill(size.channels, DType::f32, 1, 0.25);
        tensors.shift = Source{seed, 5}.fill(size.channels, DType::f32, 0, 1);
    }
    return tensors;
}

}  // namespace convt_jit
