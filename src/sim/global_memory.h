// GlobalMemory: the ranges that a launch may touch, and where an access lies among them.
#pragma once

#include "sim/program.h"

#include <cstddef>
#include <string>
#include <vector>

namespace convt_jit::sim {

class GlobalMemory {
public:
    explicit GlobalMemory(std::vector<Range> ranges) : ranges_(std::move(ranges)) {}

    // The range that holds all bytes of the access and allows it, or null.
    [[nodiscard]] const Range* find(const void* address, std::size_t bytes, bool write) const noexcept;
    // "4 bytes at 0x7f..: starts 8 bytes past the end of y (1024 bytes)", for an access that find() refuses or that is
    // not aligned.
    [[nodiscard]] std::string describe(const void* address, std::size_t bytes, bool write) const;

private:
    std::vector<Range> ranges_;
};

}  // namespace convt_jit::sim
