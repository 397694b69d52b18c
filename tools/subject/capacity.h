// Capacity: whether the cache's cap leaves room for what it was filled with. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace convt_jit::tools {

struct Capacity {
    std::uint64_t needed = 0;  // bytes of the entries
    std::uint64_t cap = 0;     // 0: none

    // What is put next evicts some of them.
    [[nodiscard]] bool exceeded() const noexcept { return cap != 0 && needed > cap; }
    // What crosses the cap is trimmed to nine tenths of it, and that is less.
    [[nodiscard]] bool tight() const noexcept { return cap != 0 && needed > cap / 10 * 9; }
};

// What is to be told, in a line; empty where they fit. `what`: "these kernels take".
[[nodiscard]] std::string warning(const Capacity& capacity, const std::string& directory,
                                  const std::string& what = "these kernels take");

}  // namespace convt_jit::tools
