#include "subject/capacity.h"

#include <fmt/format.h>

namespace convt_jit::tools {

std::string warning(const Capacity& capacity, const std::string& directory, const std::string& what) {
    if (!capacity.tight()) return {};
    const std::uint64_t enough = capacity.needed / 9 * 10 + 10;
    return fmt::format(
        "warning: {}: {} {} bytes and CONVT_JIT_CACHE_MAX_BYTES is {}: what is put there next, and "
        "`convt "
        "cache trim` without --max-bytes, {} some of them; allowed: {} or more, here and for all that use the "
        "directory",
        directory, what, capacity.needed, capacity.cap, capacity.exceeded() ? "evicts" : "may evict", enough);
}

}  // namespace convt_jit::tools
