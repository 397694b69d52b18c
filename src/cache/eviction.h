// Eviction: what goes and what stays, as pure functions. Trimming, dry runs and tests all ask them.
#pragma once

#include "cache/clock.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

enum class Verdict {
    keep_fits,        // below the cap, or used more recently than what had to go
    keep_in_use,      // a live process uses it
    keep_unknown,     // nobody can tell whether one does
    keep_recent,      // so new that whoever asked for it may not have read it yet
    keep_other_arch,  // pruning asked for other archs
    keep_young,       // pruning asked for older ones
    evict_over_cap,   // among the least recently used of too much
    evict_pruned      // pruning asked for it
};
[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;
[[nodiscard]] bool evicts(Verdict verdict) noexcept;

struct Candidate {
    std::string key;
    std::string arch;  // only pruning looks at it
    std::uint64_t bytes = 0;
    Stamp used = 0;
    bool in_use = false;
};

struct TrimRule {
    std::uint64_t max_bytes = 0;     // nothing goes while all fits in here
    std::uint64_t target_bytes = 0;  // what is left when something must go: less, so that not every put trims
    std::chrono::seconds recent{60};
    CacheTime time;
    bool holders_known = true;  // what is not in use by Candidate::in_use is in use by nobody
};
// One verdict per candidate, in their order.
[[nodiscard]] std::vector<Verdict> trim_verdicts(const std::vector<Candidate>& candidates, const TrimRule& rule);

struct PruneRule {
    std::vector<std::string> archs;  // empty: all; see arch_filter.h
    std::chrono::seconds older_than{0};
    // The machine's clock alone: were one stamp ahead of it, the cache's own time would make all others look old. After
    // the clock was set back entries look younger than they are, and stay.
    Stamp wall = 0;
    bool holders_known = true;
};
[[nodiscard]] std::vector<Verdict> prune_verdicts(const std::vector<Candidate>& candidates, const PruneRule& rule);

}  // namespace convt_jit
