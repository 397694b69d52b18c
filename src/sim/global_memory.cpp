#include "sim/global_memory.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace convt_jit::sim {
namespace {

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Bytes between the access and the range; 0 where they touch or overlap.
std::uintptr_t distance(const Range& range, std::uintptr_t address, std::size_t bytes) {
    const std::uintptr_t begin = number(range.begin);
    const std::uintptr_t end = begin + range.bytes;
    if (address + bytes <= begin) return begin - (address + bytes);
    return address > end ? address - end : 0;
}

std::string place(const Range& range, std::uintptr_t address, std::size_t bytes) {
    const std::uintptr_t begin = number(range.begin);
    const std::uintptr_t end = begin + range.bytes;
    const std::string size = fmt::format("{} ({} bytes)", range.name, range.bytes);
    if (address < begin) return fmt::format("starts {} bytes before {}", begin - address, size);
    if (address >= end) return fmt::format("starts {} bytes past the end of {}", address - end, size);
    if (bytes > end - address) return fmt::format("runs {} bytes past the end of {}", bytes - (end - address), size);
    return fmt::format("at offset {} of {}", address - begin, size);
}

}  // namespace

const Range* GlobalMemory::find(const void* address, std::size_t bytes, bool write) const noexcept {
    for (const Range& range : ranges_) {
        const std::uintptr_t offset = number(address) - number(range.begin);
        if (offset < range.bytes && range.bytes - offset >= bytes && (range.writable || !write)) return &range;
    }
    return nullptr;
}

std::string GlobalMemory::describe(const void* address, std::size_t bytes, bool write) const {
    const std::uintptr_t start = number(address);
    const std::string access = fmt::format("{} of {} bytes at {:#x}", write ? "write" : "read", bytes, start);
    if (const Range* range = find(address, bytes, false)) {
        const std::string where = place(*range, start, bytes);
        if (write && find(address, bytes, true) == nullptr)
            return fmt::format("{}: {}, which is read-only", access, where);
        return fmt::format("{}: {}, which is no multiple of {}", access, where, bytes);
    }
    if (start < 4096) return fmt::format("{}: a null pointer", access);
    const Range* nearest = nullptr;
    std::uintptr_t least = std::numeric_limits<std::uintptr_t>::max();
    for (const Range& range : ranges_) {
        if (const std::uintptr_t bytes_between = distance(range, start, bytes); bytes_between < least) {
            least = bytes_between;
            nearest = &range;
        }
    }
    if (nearest == nullptr) return access + ": the launch has no tensors";
    return fmt::format("{}: {}", access, place(*nearest, start, bytes));
}

}  // namespace convt_jit::sim
