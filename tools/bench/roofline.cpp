#include "bench/roofline.h"

#include "subject/check.h"

#include <algorithm>

namespace convt_jit::tools {

// Products of 8192^3 matrices through cuBLAS on random data. The fp32 rate is that of three TF32 products, which reach
// fp32 accuracy faster than plain FFMA does (51.6 TFLOP/s).
std::optional<Rates> measured_rates(std::string_view card) {
    if (card == "NVIDIA H100 80GB HBM3" || card == "NVIDIA H200") return Rates{394.0 / 3, 394, 764, 793};
    return std::nullopt;
}

double needed_bytes(const Layer& layer, const Shape& shape) {
    const Sizes n = sizes(layer, shape);
    const auto element = static_cast<double>(size_of(layer.dtype));
    double elements = static_cast<double>(n.x) + static_cast<double>(n.w) + static_cast<double>(n.y);
    if (layer.bias) elements += static_cast<double>(n.channels);
    if (layer.epilogue.residual) elements += static_cast<double>(n.y);
    const double vectors = layer.epilogue.affine ? 2.0 * static_cast<double>(n.channels) : 0.0;
    return elements * element + vectors * sizeof(float);
}

double speed_of_light_ms(const Layer& layer, const Shape& shape, double bytes_per_second,
                         const std::optional<Rates>& rates) {
    const double memory = needed_bytes(layer, shape) / bytes_per_second * 1e3;
    if (!rates) return memory;
    const double rate = layer.dtype == DType::f16            ? rates->f16
                        : layer.dtype == DType::bf16         ? rates->bf16
                        : layer.precision == Precision::tf32 ? rates->tf32
                                                             : rates->ieee;
    return rate > 0 ? std::max(memory, 2 * products(layer, shape) / (rate * 1e12) * 1e3) : memory;
}

}  // namespace convt_jit::tools
