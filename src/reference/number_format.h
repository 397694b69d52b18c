// NumberFormat: a number as the bits of one 16-bit element, and back.
#pragma once

#include "convt_jit/layer.h"

#include <cstdint>

namespace convt_jit {

// Rounds once, from f64 to nearest even; an overflow becomes Inf, NaN stays NaN, subnormals are kept.
[[nodiscard]] std::uint16_t to_f16(double value) noexcept;
[[nodiscard]] std::uint16_t to_bf16(double value) noexcept;
[[nodiscard]] double from_f16(std::uint16_t bits) noexcept;
[[nodiscard]] double from_bf16(std::uint16_t bits) noexcept;

// The nearest number that an element of `dtype` can hold.
[[nodiscard]] double rounded(DType dtype, double value) noexcept;

}  // namespace convt_jit
