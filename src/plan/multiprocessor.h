// Multiprocessor: what blocks find on one, and how long a grid of them takes. Pure functions.
#pragma once

#include "plan/arch.h"

#include <cstdint>
#include <string>

namespace convt_jit {

// What a block takes.
struct BlockNeeds {
    int threads = 0;
    std::int64_t registers = 0;  // of a thread, an estimate
    std::int64_t shared_bytes = 0;
};

// Blocks that fit on a multiprocessor at a time, one at least.
[[nodiscard]] int resident_blocks(const BlockNeeds& needs, const Arch& arch);
// Empty where the arch has what a block needs, and a thread no more than `most_registers`.
[[nodiscard]] std::string shortage(const BlockNeeds& needs, std::int64_t most_registers, const Arch& arch);

constexpr double kMultiprocessors = 132;  // of a data-centre GPU
// One of them, per clock cycle.
constexpr double kIssue = 4;           // instructions of a warp
constexpr double kSharedBytes = 128;   // to and from shared memory
constexpr double kGlobalBytes = 13.4;  // to and from DRAM, its share
constexpr double kCacheBytes = 24;     // from the L2, its share
constexpr double kLoadLatency = 900;   // cycles between the start of a load and its bytes
constexpr double kBarrier = 60;        // cycles of a chunk that no product fills

// Cycles of `blocks` blocks, `resident` of them on a multiprocessor at a time: `busy` for each where many overlap, of
// which `efficiency` is used, and `alone` from the start of one to its end.
[[nodiscard]] double grid_cycles(double blocks, double resident, double busy, double efficiency, double alone);

}  // namespace convt_jit
