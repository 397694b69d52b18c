#include "convt_jit/error.h"
#include "convt_jit/reference.h"
#include "reference/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace convt_jit {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool same_nonfinite(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

bool transcendental(Activation activation) {
    return activation == Activation::gelu || activation == Activation::tanh || activation == Activation::sigmoid ||
           activation == Activation::silu;
}

double longest_sum(const Layer& layer) {
    auto products = static_cast<double>(layer.in_channels_per_group());
    for (int axis = 0; axis < layer.spatial_dims(); ++axis)
        products *= std::ceil(static_cast<double>(layer.kernel[axis]) / static_cast<double>(layer.stride[axis]));
    return products;
}

}  // namespace

Errors compare(const std::vector<double>& got, const std::vector<double>& want, std::optional<DType> rounded_to) {
    if (got.size() != want.size())
        throw LayerError("got", std::to_string(got.size()) + " elements", std::to_string(want.size()) + " elements");
    const Bounds bounds = bounds_of(rounded_to);
    Errors errors;
    double difference2 = 0, want2 = 0;
    const auto note = [&](double difference, std::size_t i) {
        if (errors.worst >= 0 && difference <= errors.max_abs) return;
        errors.max_abs = difference;
        errors.worst = static_cast<std::int64_t>(i);
    };
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double size = std::isfinite(want[i]) ? std::abs(want[i]) : 0;
        if (std::isfinite(got[i]) && std::isfinite(want[i]) && size <= bounds.largest * kNearLargest) {
            const double difference = std::abs(got[i] - want[i]);
            const double error = size < bounds.smallest_normal ? std::max(difference - bounds.step, 0.0) : difference;
            difference2 += error * error;
            want2 += want[i] * want[i];
            if (difference > 0) note(difference, i);
        } else if (size > bounds.largest / kNearLargest && got[i] == std::copysign(kInfinity, want[i])) {
            continue;
        } else if (!same_nonfinite(got[i], want[i])) {
            ++errors.wrong_nonfinite;
            note(kInfinity, i);
        }
    }
    if (errors.wrong_nonfinite > 0 || (want2 == 0 && difference2 > 0))
        errors.rel_l2 = kInfinity;
    else if (want2 > 0)
        errors.rel_l2 = std::sqrt(difference2 / want2);
    return errors;
}

// A rounding to p bits is off by 0.42 * 2^-p of the number in the root mean square, and errors of many elements are
// independent, so the relative L2 error hardly varies between runs; each bound is about two of it.
double tolerance(const Layer& layer) {
    switch (layer.dtype) {
        case DType::f16:
            return 5e-4;  // the one rounding of the output, 0.42 * 2^-11 = 2.0e-4; sums are f32
        case DType::bf16:
            return 4e-3;  // the same with 2^-8: 1.6e-3
        case DType::f32:
            break;
    }
    // Both factors of each product rounded to 2^-11: 0.42 * sqrt(2) * 2^-11 = 2.9e-4, whatever the length of the sum;
    // 5.8e-4 where the hardware cuts them off instead.
    if (layer.precision == Precision::tf32) return 1e-3;
    // f32: a running sum of n products has partial sums that grow as the square root, each rounded: 1.8e-8 * sqrt(n).
    // Beyond some thousand products partial sums are due, which bound the growth; below some dozens the products' own
    // rounding and that of the output count.
    const double sum = std::clamp(3e-8 * std::sqrt(longest_sum(layer)), 2e-7, 1e-6);
    const double activation = transcendental(layer.epilogue.activation) ? 2e-7 : 0;  // a few units in the last place
    return sum + activation;
}

}  // namespace convt_jit
