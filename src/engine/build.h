// Build: the way from a plan to a loaded kernel. Read from top to bottom it is the whole of what a prepare does.
#pragma once

#include "cache/memory_store.h"
#include "cache/store.h"
#include "convt_jit/engine.h"
#include "engine/kernel_impl.h"

#include <memory>
#include <string>

namespace convt_jit {

// One request: everything that decides which machine code is wanted.
struct Request {
    Layer layer;  // without batch and input size
    Plan plan;
    Arch arch;  // what to compile for
};

// The stores that machine code is looked up in and kept in. Either may be null.
struct Stores {
    std::shared_ptr<MemoryStore> memory;
    std::shared_ptr<Store> disk;
};

// What is known of a kernel before there is one.
[[nodiscard]] KernelInfo describe(const Request& request);

// Machine code from a store or from the compiler; `info` gets origin, key and times.
[[nodiscard]] std::shared_ptr<const Entry> find_or_compile(const Request& request, const Stores& stores,
                                                           KernelInfo& info);

[[nodiscard]] std::shared_ptr<const Kernel::Impl> build_for_cuda(const Request& request, const Device& device,
                                                                 const driver::Context& context, const Stores& stores);
[[nodiscard]] std::shared_ptr<const Kernel::Impl> build_for_simulator(const Request& request);

}  // namespace convt_jit
