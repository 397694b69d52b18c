// Kernels, and calls: a kernel with the sizes of its launches, so that a launch passes addresses alone.
#include "bindings.h"
#include "dims.h"

#include <convt_jit/convt_jit.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

namespace nb = nanobind;

namespace convt_jit::python {
namespace {

using Address = std::uintptr_t;

const void* pointer(Address address) { return reinterpret_cast<const void*>(address); }
void* mutable_pointer(Address address) { return reinterpret_cast<void*>(address); }

struct Call {
    Kernel kernel;
    Shape shape;

    void launch(Address x, Address w, Address bias, Address y, std::uint64_t version, Address stream) const {
        Tensors tensors;
        tensors.x = pointer(x);
        tensors.w = pointer(w);
        tensors.bias = pointer(bias);
        tensors.y = mutable_pointer(y);
        tensors.weights_version = version;
        kernel.launch(tensors, shape, mutable_pointer(stream));
    }

    void launch_fused(Address x, Address w, Address bias, Address residual, Address scale, Address shift, Address y,
                      std::uint64_t version, Address stream) const {
        const Tensors tensors{pointer(x),
                              pointer(w),
                              pointer(bias),
                              pointer(residual),
                              static_cast<const float*>(pointer(scale)),
                              static_cast<const float*>(pointer(shift)),
                              mutable_pointer(y),
                              version};
        kernel.launch(tensors, shape, mutable_pointer(stream));
    }
};

}  // namespace

void bind_kernel(nb::module_& module) {
    // A launch may wait (for room in a stream, for another thread that packs): other threads go on meanwhile.
    using Release = nb::call_guard<nb::gil_scoped_release>;

    nb::class_<Call>(module, "Call", "A kernel for launches of one size. Addresses are integers, 0 for none.")
        .def("launch", &Call::launch, Release(), "launch(x, w, bias, y, weights_version, stream)")
        .def("launch_fused", &Call::launch_fused, Release(),
             "launch_fused(x, w, bias, residual, scale, shift, y, weights_version, stream)");

    nb::class_<Kernel>(module, "Kernel", "A compiled and loaded layer.")
        .def("call",
             [](const Kernel& kernel, std::int64_t batch, const std::vector<std::int64_t>& input) {
                 const Shape shape{batch, dims_of(input)};
                 validate(kernel.layer(), shape);
                 return Call{kernel, shape};
             })
        .def(
            "pack_weights",
            [](const Kernel& kernel, Address w, std::uint64_t version, Address stream) {
                kernel.pack_weights(pointer(w), version, mutable_pointer(stream));
            },
            Release(), "pack_weights(w, weights_version, stream)")
        .def("workspace_bytes",
             [](const Kernel& kernel, std::int64_t batch, const std::vector<std::int64_t>& input) {
                 return kernel.workspace_bytes({batch, dims_of(input)});
             })
        .def_prop_ro("layer", [](const Kernel& kernel) { return kernel.info().layer; })
        .def_prop_ro("family", [](const Kernel& kernel) { return kernel.info().family; })
        .def_prop_ro("plan", [](const Kernel& kernel) { return kernel.info().plan; })
        .def_prop_ro("plan_origin", [](const Kernel& kernel) { return to_string(kernel.info().plan_origin); })
        .def_prop_ro("arch", [](const Kernel& kernel) { return kernel.info().arch; })
        .def_prop_ro("origin", [](const Kernel& kernel) { return to_string(kernel.info().origin); })
        .def_prop_ro("compile_ms", [](const Kernel& kernel) { return kernel.info().compile_ms; })
        .def_prop_ro("packed_bytes", [](const Kernel& kernel) { return kernel.info().packed_bytes; })
        .def_prop_ro("pending", [](const Kernel& kernel) { return kernel.pending(); });
}

}  // namespace convt_jit::python
