#include "warmup/capacity.h"

#include <fmt/format.h>

namespace convt_jit::tools {

Kernels kernels_of(const std::vector<Job>& jobs) {
    Kernels kernels;
    for (const Job& job : jobs)
        if (job.wanted) {
            const CacheKey& key = job.wanted->fields;
            kernels.emplace(key.source, key.options, key.arch, key.producer);
        }
    return kernels;
}

std::uint64_t bytes_of(const std::vector<CacheEntry>& entries, const Kernels& kernels) {
    std::uint64_t bytes = 0;
    for (const CacheEntry& entry : entries) {
        const CacheKey& key = entry.fields;
        if (kernels.contains({key.source, key.options, key.arch, key.producer}) ||
            kernels.contains({key.source, key.options, key.arch, ""}))
            bytes += entry.bytes;
    }
    return bytes;
}

std::string warning(const Capacity& capacity, const std::string& directory) {
    if (!capacity.tight()) return {};
    const std::uint64_t enough = capacity.needed / 9 * 10 + 10;
    return fmt::format(
        "warning: {}: these kernels take {} bytes and CONVT_JIT_CACHE_MAX_BYTES is {}: what is put there next, and "
        "`convt "
        "cache trim` without --max-bytes, {} some of them; allowed: {} or more, here and for all that use the "
        "directory",
        directory, capacity.needed, capacity.cap, capacity.exceeded() ? "evicts" : "may evict", enough);
}

}  // namespace convt_jit::tools
