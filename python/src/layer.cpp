// Layers as Python values.
#include "bindings.h"
#include "dims.h"

#include <convt_jit/convt_jit.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace convt_jit::python {
namespace {

Layer layer_of(const std::string& text, const std::optional<std::int64_t>& batch,
               const std::vector<std::int64_t>& input) {
    Layer layer = parse_layer(text);
    layer.batch = batch;
    layer.input = dims_of(input);
    validate(layer);
    if (!layer.input.empty()) validate(layer, known_shape(layer));
    return layer;
}

}  // namespace

void bind_layer(nb::module_& module) {
    nb::class_<Layer>(module, "Layer", "A layer, as docs/layer.md describes it. Equal layers hash alike.")
        .def(
            "__init__",
            [](Layer* self, const std::string& text, const std::optional<std::int64_t>& batch,
               const std::vector<std::int64_t>& input) { new (self) Layer(layer_of(text, batch, input)); },
            nb::arg("text"), nb::arg("batch") = nb::none(), nb::arg("input") = std::vector<std::int64_t>{},
            "A layer string without sizes, and the sizes that are known.")
        .def("__str__", [](const Layer& layer) { return to_string(layer); })
        .def("__repr__", [](const Layer& layer) { return "Layer(\"" + to_string(layer) + "\")"; })
        .def("__eq__", [](const Layer& a, const Layer& b) { return a == b; })
        .def("__hash__", [](const Layer& layer) { return std::hash<std::string>()(to_string(layer)); })
        .def_prop_ro("json",
                     [](const Layer& layer) {
                         return to_json({"", layer});
                     })
        .def("output_size", [](const Layer& layer, const std::vector<std::int64_t>& input) {
            return list_of(output_size(layer, dims_of(input)));
        });
}

}  // namespace convt_jit::python
