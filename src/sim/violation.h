// Violation: what a thread of a kernel did wrong, noted where it happened and put into words later, off its stack.
#pragma once

#include "sim/fibre.h"
#include "sim/global_memory.h"
#include "sim/guarded_memory.h"

#include <cstddef>
#include <string>

namespace convt_jit::sim {

struct Violation {
    enum class Kind { none, global_access, copy_target, bulk_copy, barrier, signal, trap } kind = Kind::none;
    const void* address = nullptr;
    std::size_t bytes = 0;     // of global_access, copy_target and bulk_copy
    bool write = false;        // of global_access
    int signal = 0, code = 0;  // of signal
    const char* what = "";     // is wrong with a barrier
    const char* file = "";     // of trap
    int line = 0;
};

[[nodiscard]] std::string describe(const Violation& violation, const GlobalMemory& global, const GuardedMemory& shared,
                                   const Stack& stack);
// "24 bytes past the end of shared memory (4096 bytes)"
[[nodiscard]] std::string describe_shared(const void* address, const GuardedMemory& shared);

}  // namespace convt_jit::sim
