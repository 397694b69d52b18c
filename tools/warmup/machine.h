// Machine: the processors and the memory that this process may use, whoever limits them.
#pragma once

#include <cstdint>
#include <filesystem>

namespace convt_jit::tools {

struct Machine {
    int processors = 1;
    std::uint64_t free_bytes = UINT64_MAX;  // without swapping; UINT64_MAX where nobody tells
};

// Processors: the least of the affinity mask and the quotas of the control groups (v1 and v2). Memory: the least of
// what the kernel calls available and what the control groups have left, page cache that can be dropped counted as
// free. A group is limited by all groups above it. `root` stands before /proc and /sys; `affinity` is what the mask
// allows.
[[nodiscard]] Machine read_machine(const std::filesystem::path& root, int affinity);
// Of this process.
[[nodiscard]] Machine this_machine();

}  // namespace convt_jit::tools
