// Lookup: whether the directories that an engine asks hold what it wants, without an engine that asks.
#pragma once

#include "convt_jit/cache.h"

#include <string>
#include <vector>

namespace convt_jit::tools {

struct Lookup {
    std::string directory;  // of the hit or of the nearest entry; empty: there is neither
    CacheExplanation explanation;
    std::vector<std::string> passed_over;  // directories that could not be asked, each with the reason
};

// The first hit, else the nearest of all entries.
[[nodiscard]] Lookup look_up(const std::vector<std::string>& directories, const CacheWanted& wanted);

}  // namespace convt_jit::tools
