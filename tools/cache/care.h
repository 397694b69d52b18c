// Care: `verify`, `trim` and `prune`: what keeps a cache sound and small.
#pragma once

#include "cache/place.h"

#include <string>
#include <vector>

namespace convt_jit::tools {

struct TrimOptions {
    std::string max_bytes;  // empty: what the environment says
    bool dry_run = false;
};

struct PruneOptions {
    std::vector<std::string> archs;
    std::string older_than;
    bool dry_run = false;
};

// 1 where something is damaged, also where it was repaired: it is no sign of a sound disk. 1 also where something is
// not trusted: it is there, and serves nobody.
[[nodiscard]] int verify(const Place& place, bool repair);
// 1 where another process is trimming, and thus nothing was done, and where something that had to go could not.
[[nodiscard]] int trim(const Place& place, const TrimOptions& options);
[[nodiscard]] int prune(const Place& place, const PruneOptions& options);

}  // namespace convt_jit::tools
