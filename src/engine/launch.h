// Launch: the steps of one launch, on the device or on the simulator. What is given has been checked.
#pragma once

#include "engine/kernel_impl.h"

#include <cstddef>
#include <memory>
#include <optional>

namespace convt_jit {

// Bytes of an element of y.
[[nodiscard]] std::size_t y_element_bytes(const Kernel::Impl& kernel);

// Enqueues the main kernel, and what its plan has after it.
void launch_main(const Kernel::Impl& kernel, const Tensors& tensors, const Shape& shape,
                 const KernelMemory::Parts& memory, StreamHandle stream);
// Enqueues the packing of the weights.
void launch_pack(const Kernel::Impl& kernel, const void* w, void* packed, StreamHandle stream);

[[nodiscard]] driver::StreamState stream_state(const Kernel::Impl& kernel, StreamHandle stream);

// Memory of a kernel's own: on the device of the context, or on the host, for the simulator.
[[nodiscard]] std::shared_ptr<void> allocate(const std::optional<driver::Context>& context, std::size_t bytes);

}  // namespace convt_jit
