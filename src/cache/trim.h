// Trim: carries out what the eviction policy says.
#pragma once

#include "cache/eviction.h"
#include "cache/inventory.h"
#include "cache/root.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convt_jit {

struct Judged {
    Candidate candidate;
    Verdict verdict = Verdict::keep_fits;
    bool gone = false;    // it was removed (would be, in a dry run)
    std::string failure;  // why it could not be removed
};

struct TrimReport {
    std::vector<Judged> judged;
    std::uint64_t bytes_before = 0, bytes_after = 0;
    std::size_t evicted = 0;
    std::size_t orphans = 0;        // temporary files of the dead
    bool no_cache = false;          // nothing in the directory is of a cache: nothing was done
    bool busy = false;              // another process trims: nothing was done
    std::vector<LeftOut> left_out;  // folders whose entries were not judged
    std::string holders_unknown;    // why nobody can tell what is in use (nothing goes then); empty: it is known
};

// Below `max_bytes` nothing goes; above it, the least recently used go until `target_bytes` are left. A dry run says
// what would go and changes nothing.
TrimReport trim(const Root& root, std::uint64_t max_bytes, std::uint64_t target_bytes, bool dry_run,
                std::chrono::seconds recent = TrimRule().recent);
TrimReport prune(const Root& root, PruneRule rule, bool dry_run);

}  // namespace convt_jit
