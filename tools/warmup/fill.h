// Fill: every job to the cache, by several compilers at a time; and whether the cache holds them already.
#pragma once

#include "subject/notices.h"
#include "warmup/interruption.h"
#include "warmup/job.h"

#include <cstdint>
#include <vector>

namespace convt_jit::tools {

struct FillOptions {
    PrepareOptions prepare;
    int most_jobs = 0;  // 0: as many as there are processors
};

struct Filling {
    std::vector<JobResult> results;  // of each job
    int jobs = 0;                    // the most at the same time
    std::uint64_t peak_bytes = 0;    // the highest of any compiler's process; 0: none has told
};

// Jobs that were not reached when it was interrupted, or when the cache turned out to keep nothing, are `left`.
// What the compilers' processes warn about goes to `notices`.
[[nodiscard]] Filling fill(const std::vector<Job>& jobs, const FillOptions& options, Interruption& interruption,
                           Notices& notices);

// Compiles nothing: each job is `found` or `missing`.
[[nodiscard]] std::vector<JobResult> check(const std::vector<Job>& jobs);

// What was put into the cache, or found there, and is there no longer has failed, as `why` says.
void mark_lost(std::vector<JobResult>& results, const std::vector<CacheEntry>& entries, const std::string& why);
// All entries of the directories that can be read.
[[nodiscard]] std::vector<CacheEntry> entries_in(const std::vector<std::string>& directories);

}  // namespace convt_jit::tools
