// Program: a rendered source compiled for the CPU and run block by block, a fibre per thread.
#pragma once

#include "render/render.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace convt_jit::sim {

// A global-memory range that a kernel may touch. (Allocate tensors as GuardedMemory, so that none lies next to
// another.)
struct Range {
    const void* begin = nullptr;
    std::size_t bytes = 0;
    bool writable = false;
    const char* name = "";  // "x", for messages
};

struct LaunchOptions {
    std::size_t which = 0;  // 0: the main kernel, then Source::others
    std::uint32_t grid[3] = {1, 1, 1};
    std::uint32_t threads = 1;
    std::size_t shared_bytes = 0;
    std::vector<Range> ranges;
    // Order in which the blocks run, and the threads of a block between barriers; another order that gives another
    // result is a race.
    enum class Order { ascending, descending, shuffled } order = Order::ascending;
    std::uint64_t seed = 0;  // of `shuffled`
};

class Program {
public:
    // Compiles with $CXX, else c++, g++ or clang++. Throws CompileError (also where there is no compiler).
    explicit Program(const Source& source);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    // Runs all blocks. `argument`: the kernel's single parameter. Throws SimulatorError that names kernel, block,
    // thread and address of an access outside the ranges or the shared memory, or a barrier that some threads missed.
    // Thread-safe: one launch at a time per process.
    void launch(const LaunchOptions& options, const void* argument) const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convt_jit::sim
