#include "warmup/kernels.h"

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

}  // namespace convt_jit::tools
