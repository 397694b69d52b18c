// Grid: the blocks that a layer takes, and the launches that hold them, for a launch has limits that tensors do not
// have.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace convt_jit {

struct Grid {
    std::int64_t x = 1, y = 1, z = 1;
};

// A part of a grid: `blocks` from `first` on.
struct GridPart {
    std::array<std::int64_t, 3> first;
    std::array<std::uint32_t, 3> blocks;
};

// Calls f with parts of the grid, each small enough for one launch: nearly always with the whole. (Kernels that loop
// over what a launch cannot hold need half as many registers again: all that they know outlives a loop that never
// runs.)
template <class F>
void for_each_part(const Grid& grid, F&& f) {
    constexpr std::int64_t kMostX = (std::int64_t{1} << 31) - 1, kMostYZ = 65535;
    const auto length = [](std::int64_t all, std::int64_t first, std::int64_t most) {
        return static_cast<std::uint32_t>(std::min(all - first, most));
    };
    for (std::int64_t z = 0; z < grid.z; z += kMostYZ)
        for (std::int64_t y = 0; y < grid.y; y += kMostYZ)
            for (std::int64_t x = 0; x < grid.x; x += kMostX)
                f(GridPart{{x, y, z},
                           {length(grid.x, x, kMostX), length(grid.y, y, kMostYZ), length(grid.z, z, kMostYZ)}});
}

}  // namespace convt_jit
