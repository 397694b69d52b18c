#include "reference/activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace convt_jit {

double activate(const Epilogue& epilogue, double value) noexcept {
    switch (epilogue.activation) {
        case Activation::none:
            return value;
        case Activation::relu:
            return value < 0 ? 0 : value;
        case Activation::leaky_relu:
            return value < 0 ? value * epilogue.negative_slope : value;
        case Activation::gelu:
            return 0.5 * value * (1 + std::erf(value / std::numbers::sqrt2));
        case Activation::tanh:
            return std::tanh(value);
        case Activation::sigmoid:
            return 1 / (1 + std::exp(-value));
        case Activation::silu:
            return value / (1 + std::exp(-value));
        case Activation::hardswish:
            return value * (value < -3 ? 0 : value > 3 ? 6 : value + 3) / 6;
    }
    return value;
}

double clamped(const Epilogue& epilogue, double value) noexcept {
    if (!epilogue.clamp) return value;
    const auto [low, high] = *epilogue.clamp;
    return value < low ? low : value > high ? high : value;
}

}  // namespace convt_jit
