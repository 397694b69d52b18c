// Module: a loaded cubin and its one kernel.
#pragma once

#include "driver/capture.h"
#include "driver/context.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;

namespace convt_jit::driver {

struct FunctionFacts {
    int registers = 0;
    int local_bytes = 0;  // per thread: spills and local arrays
};

class Module {
public:
    // Loads everything now, nothing on the first launch. Leaves a graph capture that is under way whole, whichever
    // thread captures: loading does not become part of the graph.
    // Throws DriverError: the cubin does not load, has no such kernel, needs more shared memory than the device has.
    Module(const Context& context, std::string_view cubin, const std::string& entry, std::size_t shared_bytes);
    ~Module();  // unloads, where the context is still there
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    [[nodiscard]] const FunctionFacts& facts() const noexcept { return facts_; }
    [[nodiscard]] const Context& context() const noexcept { return context_; }

    // `argument`: the kernel's single parameter, copied by the driver. Throws DriverError, also where the context is
    // gone. No allocation, no lock, no synchronisation; the caller's current context stays what it is.
    void launch(const std::uint32_t grid[3], std::uint32_t threads, std::size_t shared_bytes, CUstream stream,
                const void* argument) const;

private:
    Context context_;
    CUmodule module_ = nullptr;
    CUfunction function_ = nullptr;
    FunctionFacts facts_;
};

}  // namespace convt_jit::driver
