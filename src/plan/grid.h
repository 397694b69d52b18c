// Grid: blocks of one launch, within the limits of a grid. Kernels loop over whatever a grid cannot hold.
#pragma once

#include <algorithm>
#include <cstdint>

namespace convt_jit {

struct Grid {
    std::uint32_t x = 1, y = 1, z = 1;

    static Grid clipped(std::int64_t x, std::int64_t y = 1, std::int64_t z = 1) {
        constexpr std::int64_t kMaxX = (std::int64_t{1} << 31) - 1, kMaxYZ = 65535;
        const auto clip = [](std::int64_t n, std::int64_t most) {
            return static_cast<std::uint32_t>(std::clamp<std::int64_t>(n, 1, most));
        };
        return {clip(x, kMaxX), clip(y, kMaxYZ), clip(z, kMaxYZ)};
    }
};

}  // namespace convt_jit
