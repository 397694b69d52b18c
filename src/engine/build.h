// Build: from a request to a loaded kernel.
#pragma once

#include "engine/kernel_impl.h"
#include "engine/machine_code.h"

#include <memory>

namespace convt_jit {

// The engine's memory, disk and compiler, then the driver. Published only after it has been seen to load.
[[nodiscard]] std::shared_ptr<const Kernel::Impl> build_for_cuda(const Request& request, const Device& device,
                                                                 const driver::Context& context, const Stores& stores);
[[nodiscard]] std::shared_ptr<const Kernel::Impl> build_for_simulator(const Request& request);

// Whether a build would find machine code and not have to compile.
[[nodiscard]] bool is_cached(const Request& request, const Stores& stores);

// Machine code for another machine: kept without being loaded.
[[nodiscard]] KernelInfo compile_ahead(const Request& request, const Stores& stores);

}  // namespace convt_jit
