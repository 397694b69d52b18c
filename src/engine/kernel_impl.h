// Kernel::Impl: what a Kernel handle points to. Immutable once made, so launches need no lock.
#pragma once

#include "convt_jit/kernel.h"
#include "driver/module.h"
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
};

}  // namespace convt_jit
