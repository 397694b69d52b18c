// Explain: why a layer would be found in the cache, or what is in the way.
#pragma once

#include "cache/place.h"

#include <string>

namespace convt_jit::tools {

struct ExplainOptions {
    std::string layer, arch, plan;
    bool exact_nonfinite = false;
};

// 0: a lookup would hit; 1: it would miss.
[[nodiscard]] int explain(const Place& place, const ExplainOptions& options);

}  // namespace convt_jit::tools
