// Module: a loaded cubin and its kernels.
#pragma once

#include "driver/capture.h"
#include "driver/context.h"
#include "driver/stream_state.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
    // `entry`: the main kernel, which gets `shared_bytes`; `others`: those that run before or after it.
    // Throws DriverError: the cubin does not load, lacks a kernel, needs more shared memory than the device has.
    Module(const Context& context, std::string_view cubin, const std::string& entry, std::size_t shared_bytes,
           const std::vector<std::string>& others = {});
    ~Module();  // unloads, where the context is still there
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    // Of the main kernel.
    [[nodiscard]] const FunctionFacts& facts() const noexcept { return facts_; }
    [[nodiscard]] const Context& context() const noexcept { return context_; }

    // `argument`: the kernel's single parameter, copied by the driver. `which`: 0 for the main kernel, then the others.
    // Throws DriverError, also where the context is gone. No allocation, no lock, no synchronisation; the caller's
    // current context stays what it is.
    void launch(const std::uint32_t grid[3], std::uint32_t threads, std::size_t shared_bytes, CUstream stream,
                const void* argument, std::size_t which = 0) const;
    // Of a stream that a launch may be given. Throws as a launch does where the context is gone.
    [[nodiscard]] StreamState state_of(CUstream stream) const;

private:
    Context context_;
    CUmodule module_ = nullptr;
    std::vector<CUfunction> functions_;
    FunctionFacts facts_;
};

}  // namespace convt_jit::driver
