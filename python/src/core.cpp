// convt_jit._core: the library for Python. Tensors cross as addresses and streams as handles, both plain integers, so
// that nothing here depends on PyTorch.
#include "bindings.h"

NB_MODULE(_core, module) {
    using namespace convt_jit::python;
    // Handles may outlive the interpreter's last collection, which is no fault worth a message.
    nanobind::set_leak_warnings(false);
    module.doc() = "convt_jit's library: layers, engines and kernels; tensors are addresses";
    bind_errors(module);
    bind_layer(module);
    bind_kernel(module);
    bind_engine(module);
}
