// Kernel::Impl: what a Kernel handle points to. Immutable but for its successor and the memory that some plans need, so
// the launches of others need no lock.
#pragma once

#include "convt_jit/kernel.h"
#include "driver/module.h"
#include "engine/kernel_memory.h"
#include "engine/successor.h"
#include "plan/geometry.h"
#include "plan/plan.h"
#include "sim/program.h"

#include <memory>

namespace convt_jit {

struct Kernel::Impl {
    Layer layer;  // without batch and input size: those come with each launch
    Plan plan;
    Arch arch;
    Device device;
    KernelInfo info;
    std::shared_ptr<const driver::Module> module;  // on a CUDA device
    std::shared_ptr<const sim::Program> program;   // on the simulator
    // Null where the plan needs none. Every prepare has its own: else layers that share a kernel and have different
    // weights would pack at each launch.
    std::shared_ptr<KernelMemory> memory;
    // Takes over once it is there; null where this kernel is as good as it gets. This one stays as long as the handle,
    // for launches that have begun, and for references that info() gave out.
    std::shared_ptr<const Successor> successor;
};

}  // namespace convt_jit
