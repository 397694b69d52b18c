// Kernels: what a warmup makes, and how much room it takes. Pure functions.
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

// Bytes of those entries that are of these kernels.
[[nodiscard]] std::uint64_t bytes_of(const std::vector<CacheEntry>& entries, const Kernels& kernels);

}  // namespace convt_jit::tools
