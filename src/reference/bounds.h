// Bounds: what bounds the elements that numbers were rounded to, so that errors beyond them are none.
#pragma once

#include "convt_jit/layer.h"

#include <limits>
#include <optional>

namespace convt_jit {

struct Bounds {
    double largest = std::numeric_limits<double>::infinity();
    double smallest_normal = 0;
    double step = 0;  // between subnormal numbers
};
// Whether a number this near to the largest one overflows is a matter of how the sum was rounded.
inline constexpr double kNearLargest = 1 + 0x1p-8;

[[nodiscard]] constexpr Bounds bounds_of(std::optional<DType> dtype) {
    if (!dtype) return {};
    switch (*dtype) {
        case DType::f16:
            return {65504, 0x1p-14, 0x1p-24};
        case DType::bf16:
            return {0x1.fep127, 0x1p-126, 0x1p-133};
        case DType::f32:
            break;
    }
    return {0x1.fffffep127, 0x1p-126, 0x1p-149};
}

}  // namespace convt_jit
