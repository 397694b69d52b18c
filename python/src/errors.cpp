// The library's errors as Python exceptions, one class per cause.
#include "bindings.h"

#include <convt_jit/convt_jit.h>

namespace nb = nanobind;

namespace convt_jit::python {

void bind_errors(nb::module_& module) {
    // A later translator is asked before an earlier one: the base comes first.
    const auto base = nb::exception<Error>(module, "Error", PyExc_RuntimeError);
    nb::exception<LayerError>(module, "LayerError", base.ptr());
    nb::exception<CompileError>(module, "CompileError", base.ptr());
    nb::exception<StoppedError>(module, "StoppedError", base.ptr());
    nb::exception<DriverError>(module, "DriverError", base.ptr());
    nb::exception<UnsupportedError>(module, "UnsupportedError", base.ptr());
    nb::exception<SimulatorError>(module, "SimulatorError", base.ptr());
    nb::exception<CacheError>(module, "CacheError", base.ptr());
}

}  // namespace convt_jit::python
