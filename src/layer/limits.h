// Limits: bounds on every size of a layer, chosen so that no sum or product of valid sizes leaves 64 bits.
#pragma once

#include <cstdint>

namespace convt_jit {

// Channels, groups, kernel, dilation, paddings.
inline constexpr std::int64_t kMaxSize = (std::int64_t{1} << 31) - 1;
// Phase tables with one entry per position of the stride are baked into the source.
inline constexpr std::int64_t kMaxStride = 65536;
// Of one tensor, and so of its batch and each axis: also its bytes, at 4 each, then fit in 64 bits.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 60;

}  // namespace convt_jit
