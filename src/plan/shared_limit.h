// Shared memory that a GPU has (CUDA programming guide, technical specifications per compute capability).
#pragma once

#include "plan/arch.h"

#include <cstddef>

namespace convt_jit {

// A block may opt in to this much.
[[nodiscard]] constexpr std::size_t shared_limit(const Arch& arch) {
    switch (arch.number) {
        case 75:
            return 64 << 10;
        case 80:
        case 87:
            return 163 << 10;
        case 86:
        case 89:
        case 120:
        case 121:
            return 99 << 10;
        default:
            return arch.number >= 90 ? 227 << 10 : 48 << 10;
    }
}

// A multiprocessor has 1 KiB more, and takes 1 KiB of it for each block.
[[nodiscard]] constexpr std::size_t shared_of_multiprocessor(const Arch& arch) { return shared_limit(arch) + 1024; }

// What every GPU gives without opting in, and what leaves room for several blocks on one multiprocessor.
constexpr std::size_t kComfortableShared = 48 << 10;

}  // namespace convt_jit
