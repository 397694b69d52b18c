#include "sim/violation.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdint>

namespace convt_jit::sim {
namespace {

std::string describe_signal(const Violation& violation, const GuardedMemory& shared, const Stack& stack) {
    const auto address = reinterpret_cast<std::uintptr_t>(violation.address);
    switch (violation.signal) {
        case SIGFPE:
            return "integer division by zero, or a quotient that does not fit";
        case SIGILL:
            return "an address that is no multiple of what is read or written there";
        default:
            break;
    }
    if (shared.surrounds(violation.address)) return "access " + describe_shared(violation.address, shared);
    if (stack.guards(violation.address))
        return fmt::format("the thread's local variables and calls need more than {} bytes", Stack::kBytes);
    // A processor reports no address where a vector access is not aligned or an address is no address at all.
    if (address == 0 && violation.code > 0 && violation.code != SEGV_MAPERR)
        return "an access that is not aligned, or to an address that no memory can have";
    return fmt::format("access to {:#x}, which is neither shared memory nor went through load_global and its like",
                       address);
}

}  // namespace

std::string describe_shared(const void* address, const GuardedMemory& shared) {
    const auto offset = static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(address) -
                                                    reinterpret_cast<std::uintptr_t>(shared.begin()));
    const auto bytes = static_cast<std::ptrdiff_t>(shared.bytes());
    if (offset < 0) return fmt::format("{} bytes before shared memory ({} bytes)", -offset, bytes);
    if (offset >= bytes)
        return fmt::format("at offset {} of shared memory, {} bytes past its end ({} bytes)", offset, offset - bytes,
                           bytes);
    return fmt::format("at offset {} of shared memory ({} bytes)", offset, bytes);
}

std::string describe(const Violation& violation, const GlobalMemory& global, const GuardedMemory& shared,
                     const Stack& stack) {
    switch (violation.kind) {
        case Violation::Kind::global_access:
            return global.describe(violation.address, violation.bytes, violation.write);
        case Violation::Kind::copy_target:
            if (shared.contains(violation.address, violation.bytes))
                return fmt::format("copy_async of {} bytes to a place that is no multiple of that, {}", violation.bytes,
                                   describe_shared(violation.address, shared));
            return shared.surrounds(violation.address)
                       ? fmt::format("copy_async of {} bytes {}", violation.bytes,
                                     describe_shared(violation.address, shared))
                       : fmt::format("copy_async to {:#x}, which is not shared memory",
                                     reinterpret_cast<std::uintptr_t>(violation.address));
        case Violation::Kind::bulk_copy:
            return fmt::format(
                "copy_bulk of {} bytes to a place that is not such a piece of shared memory, or not a "
                "multiple of 16 in all: {}",
                violation.bytes, describe_shared(violation.address, shared));
        case Violation::Kind::barrier:
            return fmt::format("{}, {}", violation.what, describe_shared(violation.address, shared));
        case Violation::Kind::signal:
            return describe_signal(violation, shared, stack);
        case Violation::Kind::trap:
            return fmt::format("trap at {}:{}", violation.file, violation.line);
        case Violation::Kind::none:
            break;
    }
    return "nothing wrong";
}

}  // namespace convt_jit::sim
