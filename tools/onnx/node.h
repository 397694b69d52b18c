// Node: one operation of a graph while shapes are inferred: what is known of its inputs, and what becomes of it.
#pragma once

#include "onnx.pb.h"
#include "onnx/attributes.h"
#include "onnx/fact.h"

#include <cstdint>
#include <string>
#include <vector>

namespace convt_jit::onnx_import {

struct Node {
    const ::onnx::NodeProto& proto;
    Attributes attributes;
    std::int64_t opset;               // of the operator's domain
    std::vector<const Fact*> inputs;  // nullptr: left out
    std::vector<Fact> outputs;

    // nullptr: left out or not there.
    [[nodiscard]] const Fact* input(std::size_t index) const { return index < inputs.size() ? inputs[index] : nullptr; }
    // The shape of that input; throws UnknownShape where it is not known.
    [[nodiscard]] const Shape& shape(std::size_t index) const;
    // Its contents; throws UnknownShape where they are not known.
    [[nodiscard]] const std::vector<Dim>& ints(std::size_t index) const;
    // The same, each of them known.
    [[nodiscard]] std::vector<std::int64_t> known_ints(std::size_t index) const;
    // From an attribute, or in newer versions an input; unset: neither.
    [[nodiscard]] std::optional<std::vector<std::int64_t>> ints_of(std::string_view attribute, std::size_t index) const;
    // Does nothing where there is no such output.
    void set(std::size_t output, Shape shape, int type = 0);
};

// "node \"up1\" (ConvTranspose)"; without a name the first output's stands for it.
[[nodiscard]] std::string title(const ::onnx::NodeProto& node);

// What a rule throws where its inputs are not known enough.
struct UnknownShape {
    std::string why;
};

// As indices from 0 of `rank` axes. Throws LayerError(field, ...).
[[nodiscard]] std::size_t axis_of(const char* field, std::int64_t axis, std::size_t rank);

}  // namespace convt_jit::onnx_import
