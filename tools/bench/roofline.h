// Roofline: the speed of light of a layer on a card.
#pragma once

#include "convt_jit/convt_jit.h"

#include <optional>
#include <string_view>

namespace convt_jit::tools {

// Operations per second that a card was measured to reach (bench/rates in docs/bench.md), in TFLOP/s; 0: not measured.
struct Rates {
    double ieee = 0, tf32 = 0, f16 = 0, bf16 = 0;
};
// Nothing for a card that was never measured.
[[nodiscard]] std::optional<Rates> measured_rates(std::string_view card);

// Bytes that must move: x, w, bias, residual, scale, shift and y, each once.
[[nodiscard]] double needed_bytes(const Layer& layer, const Shape& shape);

// max(bytes / bandwidth, operations / rate) in milliseconds; without rates the bytes alone.
[[nodiscard]] double speed_of_light_ms(const Layer& layer, const Shape& shape, double bytes_per_second,
                                       const std::optional<Rates>& rates);

}  // namespace convt_jit::tools
