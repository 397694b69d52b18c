// Selection: which cases are run where time is short. A pure function of the cases and the limits.
#pragma once

#include "conformance/cases.h"

#include <cstdint>
#include <vector>

namespace convt_jit::test {

struct Limits {
    double one = 1e30;                // cost of one case
    double all = 1e30;                // of all cases together
    std::size_t programs = SIZE_MAX;  // distinct programs that have to be compiled
    std::uint64_t seed = 1;           // of the order in which cases are chosen
};

// What it takes to run and check a case, in about the time of one product on the simulator.
[[nodiscard]] double cost(const Case& item);

// Two cases with the same text are served by one compiled program.
[[nodiscard]] std::string program_of(const Case& item);

// Indices of the chosen cases, the dearest first. Those with numbers of their own come before the others, then each
// case in one of its variants (dtype, layout), then in its other ones.
[[nodiscard]] std::vector<std::size_t> choose(const std::vector<Case>& cases, const Limits& limits);

// The cases whose program falls to that shard, so that no two shards compile the same one.
[[nodiscard]] std::vector<Case> shard_of(const std::vector<Case>& cases, int shard, int shards);

}  // namespace convt_jit::test
