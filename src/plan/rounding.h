// Rounding: integers that are brought to what a tile needs. Pure functions.
#pragma once

#include <cstdint>

namespace convt_jit {

// The rest of a division that rounds down; b is positive.
[[nodiscard]] constexpr int modulo(int a, int b) { return (a % b + b) % b; }
[[nodiscard]] constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }
// The least number of words from n on that leaves `rest` when it is divided by the 32 banks of shared memory.
[[nodiscard]] constexpr std::int64_t pitch(std::int64_t n, int rest) { return n + (rest + 32 - n % 32) % 32; }

}  // namespace convt_jit
