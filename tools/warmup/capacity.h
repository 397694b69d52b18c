// Capacity: whether the cache's cap leaves room for all that it was warmed with. Pure functions.
#pragma once

#include "warmup/job.h"

#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace convt_jit::tools {

// Kernels by what the same command wants everywhere: source, options, arch and, where it is known, the producer.
using Kernels = std::set<std::tuple<std::string, std::string, std::string, std::string>>;
[[nodiscard]] Kernels kernels_of(const std::vector<Job>& jobs);

struct Capacity {
    std::uint64_t needed = 0;  // bytes of the entries
    std::uint64_t cap = 0;     // 0: none

    // What is put next evicts some of them.
    [[nodiscard]] bool exceeded() const noexcept { return cap != 0 && needed > cap; }
    // What crosses the cap is trimmed to nine tenths of it, and that is less.
    [[nodiscard]] bool tight() const noexcept { return cap != 0 && needed > cap / 10 * 9; }
};

// Bytes of those entries that are of these kernels.
[[nodiscard]] std::uint64_t bytes_of(const std::vector<CacheEntry>& entries, const Kernels& kernels);

// What is to be told, in a line; empty where they fit.
[[nodiscard]] std::string warning(const Capacity& capacity, const std::string& directory);

}  // namespace convt_jit::tools
