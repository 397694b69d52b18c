// What each file of the extension adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace convt_jit::python {

void bind_errors(nanobind::module_& module);
void bind_layer(nanobind::module_& module);
void bind_kernel(nanobind::module_& module);
void bind_engine(nanobind::module_& module);

}  // namespace convt_jit::python
