#include "plan/multiprocessor.h"

#include "plan/shared_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace convt_jit {

int resident_blocks(const BlockNeeds& needs, const Arch& arch) {
    const int threads = (needs.threads + 31) / 32 * 32;
    const std::int64_t registers = std::min<std::int64_t>(255, (needs.registers + 7) / 8 * 8);
    const std::int64_t shared = static_cast<std::int64_t>(shared_of_multiprocessor(arch)) / (needs.shared_bytes + 1024);
    const std::int64_t resident =
        std::min({shared, 65536 / (registers * threads), std::int64_t{2048 / threads}, std::int64_t{32}});
    return static_cast<int>(std::max<std::int64_t>(resident, 1));
}

std::string shortage(const BlockNeeds& needs, std::int64_t most_registers, const Arch& arch) {
    if (needs.registers > most_registers || needs.threads * needs.registers > 65536)
        return fmt::format("a thread needs about {} registers, and a block has {} threads", needs.registers,
                           needs.threads);
    if (needs.shared_bytes > static_cast<std::int64_t>(shared_limit(arch)))
        return fmt::format("a block needs {} bytes of shared memory, {} has {}", needs.shared_bytes, to_string(arch),
                           shared_limit(arch));
    return {};
}

double grid_cycles(double blocks, double resident, double busy, double efficiency, double alone) {
    const double per_processor = blocks / kMultiprocessors;
    const double throughput = std::max(per_processor, 1.0) * busy / efficiency;
    const double rounds = std::max(1.0, per_processor / resident);
    const double waves = rounds < 8 ? std::ceil(rounds - 0.05) : rounds;
    return std::max(throughput * (waves / rounds * 0.5 + 0.5), waves * alone) +
           0.1 * std::min(throughput, waves * alone);
}

}  // namespace convt_jit
