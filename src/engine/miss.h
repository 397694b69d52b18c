// Miss: what to tell whoever has neither the kernel nor a compiler.
#pragma once

#include "convt_jit/cache.h"

#include <optional>
#include <string>
#include <vector>

namespace convt_jit {

struct Nearest {
    CacheEntry entry;
    std::vector<CacheDifference> differing;
};

struct Miss {
    std::string layer, arch;  // as they were asked for
    std::string plan;         // where it is not the default choice
    bool exact_nonfinite = false;
    std::string caches;  // that were asked
    CacheWanted wanted;
    std::optional<Nearest> nearest;
    std::string why_no_compiler;
};

// Layer, fields of the key, the nearest entry's differences, and the command that mends it.
[[nodiscard]] std::string describe(const Miss& miss);

// Of all entries in those directories the one that comes nearest. Reads their headers: for errors only.
[[nodiscard]] std::optional<Nearest> nearest_in(const std::vector<std::string>& directories, const CacheWanted& wanted);

}  // namespace convt_jit
