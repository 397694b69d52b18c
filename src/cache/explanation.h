// Explanation: why a key hits or misses.
#pragma once

#include "convt_jit/cache.h"

#include <cstddef>
#include <vector>

namespace convt_jit {

// Fields of the key that differ; where the source does, also what may be the reason.
[[nodiscard]] std::vector<CacheDifference> differences(const CacheWanted& wanted, const CacheEntry& entry);

// Index of the entry that comes nearest (see is_nearer). The number of entries where there is none that can be read.
[[nodiscard]] std::size_t nearest(const CacheWanted& wanted, const std::vector<CacheEntry>& entries);

}  // namespace convt_jit
