// Rules: what an operator makes of the shapes of its inputs, by its name. All versions of an operator share a rule:
// what was an attribute and became an input is looked for in both.
#pragma once

#include "onnx/node.h"

#include <map>
#include <string_view>

namespace convt_jit::onnx_import {

// Sets shapes and types of outputs. Throws UnknownShape, or LayerError for what an operator cannot be given.
using Rule = void (*)(Node&);
using Rules = std::map<std::string_view, Rule>;

// nullptr: none is known.
[[nodiscard]] Rule find_rule(std::string_view op_type);
// Sets the contents of small outputs, after the shapes; nullptr: none.
[[nodiscard]] Rule find_contents_rule(std::string_view op_type);

// By family, each in a file of its own.
[[nodiscard]] const Rules& convolution_rules();
[[nodiscard]] const Rules& layout_rules();
[[nodiscard]] const Rules& matrix_rules();
[[nodiscard]] const Rules& resize_rules();
[[nodiscard]] const Rules& select_rules();
[[nodiscard]] const Rules& contents_rules();

// What broadcasting makes of two shapes, as NumPy does. Throws UnknownShape where they do not go together.
[[nodiscard]] Shape broadcast(const Node& node, const Shape& a, const Shape& b);
// Arithmetic on sizes; throws UnknownShape where it leaves 64 bits.
[[nodiscard]] std::int64_t product(std::int64_t a, std::int64_t b);
[[nodiscard]] std::int64_t sum(std::int64_t a, std::int64_t b);
// A size through a function of known sizes; an unknown one stays so.
template <class Function>
[[nodiscard]] Dim mapped(const Dim& dim, const Function& function) {
    return dim.value ? known(function(*dim.value)) : computed_from(dim);
}

}  // namespace convt_jit::onnx_import
