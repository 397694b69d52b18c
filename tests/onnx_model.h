// ModelText: ONNX models for tests, made in a line or two each.
#pragma once

#include "onnx.pb.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace convt_jit::test {

using ::onnx::AttributeProto;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;
using ::onnx::ValueInfoProto;

inline ModelProto make_model(std::int64_t opset = 22, std::int64_t ir = 10) {
    ModelProto model;
    model.set_ir_version(ir);
    auto* const import = model.add_opset_import();
    import->set_domain("");
    import->set_version(opset);
    model.mutable_graph()->set_name("g");
    return model;
}

// A size below 0 is the symbol N, H or W by its value: -1, -2, -3.
inline void set_shape(::onnx::TypeProto& type, const std::vector<std::int64_t>& sizes, int element) {
    auto* const tensor = type.mutable_tensor_type();
    tensor->set_elem_type(element);
    tensor->mutable_shape();
    for (const std::int64_t size : sizes) {
        auto* const dim = tensor->mutable_shape()->add_dim();
        if (size >= 0)
            dim->set_dim_value(size);
        else
            dim->set_dim_param(std::string(1, "NHW"[-size - 1]));
    }
}

inline void add_input(GraphProto& graph, const std::string& name, const std::vector<std::int64_t>& sizes,
                      int type = TensorProto::FLOAT) {
    auto* const input = graph.add_input();
    input->set_name(name);
    set_shape(*input->mutable_type(), sizes, type);
}

inline void add_output(GraphProto& graph, const std::string& name) { graph.add_output()->set_name(name); }

inline void add_value_info(GraphProto& graph, const std::string& name, const std::vector<std::int64_t>& sizes,
                           int type = TensorProto::FLOAT) {
    auto* const value = graph.add_value_info();
    value->set_name(name);
    set_shape(*value->mutable_type(), sizes, type);
}

inline TensorProto tensor_of(const std::string& name, const std::vector<std::int64_t>& dims,
                             const std::vector<float>& values) {
    TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::FLOAT);
    for (const std::int64_t dim : dims) tensor.add_dims(dim);
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
    return tensor;
}

inline TensorProto ints_tensor(const std::string& name, const std::vector<std::int64_t>& values, bool scalar = false) {
    TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::INT64);
    if (!scalar) tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor.add_int64_data(value);
    return tensor;
}

inline std::int64_t count_of(const std::vector<std::int64_t>& dims) {
    std::int64_t count = 1;
    for (const std::int64_t dim : dims) count *= dim;
    return count;
}

// All elements are `value`.
inline void add_weights(GraphProto& graph, const std::string& name, const std::vector<std::int64_t>& dims,
                        float value = 1) {
    *graph.add_initializer() =
        tensor_of(name, dims, std::vector<float>(static_cast<std::size_t>(count_of(dims)), value));
}

inline NodeProto& add_node(GraphProto& graph, const std::string& op, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs, const std::string& name = "") {
    NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    for (const std::string& output : outputs) node.add_output(output);
    return node;
}

inline AttributeProto& add_attribute(NodeProto& node, const std::string& name, AttributeProto::AttributeType type) {
    AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
}
inline void set(NodeProto& node, const std::string& name, std::int64_t value) {
    add_attribute(node, name, AttributeProto::INT).set_i(value);
}
inline void set(NodeProto& node, const std::string& name, float value) {
    add_attribute(node, name, AttributeProto::FLOAT).set_f(value);
}
inline void set(NodeProto& node, const std::string& name, const std::string& value) {
    add_attribute(node, name, AttributeProto::STRING).set_s(value);
}
inline void set(NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
    AttributeProto& attribute = add_attribute(node, name, AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
}

// x -> ConvTranspose "up" (w) -> y, without attributes, x and w as given.
inline ModelProto one_node(const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& w,
                           std::int64_t opset = 22) {
    ModelProto model = make_model(opset);
    GraphProto& graph = *model.mutable_graph();
    add_input(graph, "x", x);
    add_weights(graph, "w", w);
    add_node(graph, "ConvTranspose", {"x", "w"}, {"y"}, "up");
    add_output(graph, "y");
    return model;
}

}  // namespace convt_jit::test
