#include "onnx/rules.h"

#include "convt_jit/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace convt_jit::onnx_import {
namespace {

using ::onnx::TensorProto;

int type_of(const Node& node, std::size_t index) {
    const Fact* const fact = node.input(index);
    return fact == nullptr ? 0 : fact->type;
}

void same(Node& node) { node.set(0, node.shape(0), type_of(node, 0)); }

void same_bool(Node& node) { node.set(0, node.shape(0), TensorProto::BOOL); }

void identity(Node& node) {
    (void)node.shape(0);
    if (!node.outputs.empty()) node.outputs[0] = *node.input(0);
}

void dropout(Node& node) {
    same(node);
    node.set(1, node.shape(0), TensorProto::BOOL);
}

// In training it has further outputs, one value per channel.
void batch_normalization(Node& node) {
    same(node);
    for (std::size_t i = 1; i < node.outputs.size(); ++i)
        if (node.input(1) != nullptr && node.input(1)->shape) node.set(i, *node.input(1)->shape, type_of(node, 1));
}

void cast(Node& node) {
    int type = 0;
    try {
        type = static_cast<int>(node.attributes.integer("to", 0));
    } catch (const LayerError&) {
        // The first version names the type.
        ::onnx::TensorProto_DataType named{};
        if (::onnx::TensorProto_DataType_Parse(node.attributes.text("to", ""), &named)) type = named;
    }
    node.set(0, node.shape(0), type);
}

void cast_like(Node& node) { node.set(0, node.shape(0), type_of(node, 1)); }

void quantize(Node& node) {
    const int type = type_of(node, 2);
    node.set(0, node.shape(0), type != 0 ? type : static_cast<int>(TensorProto::UINT8));
}

void dequantize(Node& node) { node.set(0, node.shape(0), type_of(node, 1)); }

// Of all inputs. Before version 7 the second one was fitted to the first, by attributes.
Shape broadcast_all(const Node& node, std::size_t from = 0) {
    Shape shape = node.shape(from);
    if (node.attributes.has("broadcast")) return shape;
    for (std::size_t i = from + 1; i < node.inputs.size(); ++i) shape = broadcast(node, shape, node.shape(i));
    return shape;
}

void elementwise(Node& node) { node.set(0, broadcast_all(node), type_of(node, 0)); }

void comparison(Node& node) { node.set(0, broadcast_all(node), TensorProto::BOOL); }

void where(Node& node) { node.set(0, broadcast_all(node), type_of(node, 1)); }

std::vector<bool> reduced_axes(const Node& node, std::size_t rank) {
    const auto axes = node.ints_of("axes", 1);
    if (!axes || axes->empty()) return std::vector<bool>(rank, node.attributes.integer("noop_with_empty_axes", 0) == 0);
    std::vector<bool> reduced(rank, false);
    for (const std::int64_t axis : *axes) reduced[axis_of("axes", axis, rank)] = true;
    return reduced;
}

Shape without(const Shape& shape, const std::vector<bool>& reduced, bool keep) {
    Shape left;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (!reduced[axis])
            left.push_back(shape[axis]);
        else if (keep)
            left.push_back(known(1));
    }
    return left;
}

void reduce(Node& node) {
    const Shape& shape = node.shape(0);
    const bool keep = node.attributes.integer("keepdims", 1) != 0;
    node.set(0, without(shape, reduced_axes(node, shape.size()), keep), type_of(node, 0));
}

void arg_reduce(Node& node) {
    const Shape& shape = node.shape(0);
    std::vector<bool> reduced(shape.size(), false);
    reduced[axis_of("axis", node.attributes.integer("axis", 0), shape.size())] = true;
    node.set(0, without(shape, reduced, node.attributes.integer("keepdims", 1) != 0), TensorProto::INT64);
}

Rules elementwise_rules() {
    Rules rules;
    for (const char* op : {"Abs",
                           "Acos",
                           "Acosh",
                           "Asin",
                           "Asinh",
                           "Atan",
                           "Atanh",
                           "Bernoulli",
                           "BitwiseNot",
                           "Ceil",
                           "Celu",
                           "Clip",
                           "Cos",
                           "Cosh",
                           "CumSum",
                           "CumProd",
                           "Elu",
                           "Erf",
                           "Exp",
                           "EyeLike",
                           "Floor",
                           "Gelu",
                           "GroupNormalization",
                           "HardSigmoid",
                           "HardSwish",
                           "Hardmax",
                           "ImageScaler",
                           "InstanceNormalization",
                           "LRN",
                           "LayerNormalization",
                           "LeakyRelu",
                           "Log",
                           "LogSoftmax",
                           "LpNormalization",
                           "MeanVarianceNormalization",
                           "Mish",
                           "Neg",
                           "Not",
                           "PRelu",
                           "ParametricSoftplus",
                           "RMSNormalization",
                           "RandomNormalLike",
                           "RandomUniformLike",
                           "Reciprocal",
                           "Relu",
                           "ReverseSequence",
                           "Round",
                           "ScaledTanh",
                           "Scatter",
                           "ScatterElements",
                           "ScatterND",
                           "Selu",
                           "Shrink",
                           "Sigmoid",
                           "Sign",
                           "Sin",
                           "Sinh",
                           "Softmax",
                           "Softplus",
                           "Softsign",
                           "Sqrt",
                           "Swish",
                           "Tan",
                           "Tanh",
                           "ThresholdedRelu",
                           "Trilu"})
        rules[op] = same;
    for (const char* op : {"IsNaN", "IsInf"}) rules[op] = same_bool;
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Mod", "BitShift", "BitwiseAnd", "BitwiseOr",
                           "BitwiseXor", "Sum", "Mean", "Max", "Min"})
        rules[op] = elementwise;
    for (const char* op : {"And", "Or", "Xor", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"})
        rules[op] = comparison;
    for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                           "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"})
        rules[op] = reduce;
    rules.insert({{"Identity", identity},
                  {"Dropout", dropout},
                  {"BatchNormalization", batch_normalization},
                  {"Cast", cast},
                  {"CastLike", cast_like},
                  {"QuantizeLinear", quantize},
                  {"DequantizeLinear", dequantize},
                  {"Where", where},
                  {"ArgMax", arg_reduce},
                  {"ArgMin", arg_reduce}});
    return rules;
}

Rules all_rules() {
    Rules rules = elementwise_rules();
    for (const Rules* more : {&convolution_rules(), &layout_rules(), &matrix_rules(), &resize_rules(), &select_rules()})
        rules.insert(more->begin(), more->end());
    return rules;
}

Dim broadcast(const Node& node, const Dim& a, const Dim& b) {
    if (a.same(b) || (b.value && *b.value == 1)) return a;
    if (a.value && *a.value == 1) return b;
    if (a.value && b.value)
        throw UnknownShape{
            fmt::format("{} is given sizes {} and {} on one axis", title(node.proto), *a.value, *b.value)};
    if (a.value) return a;  // the other is that, or 1
    if (b.value) return b;
    return computed_from(a.symbol.empty() ? b : a);
}

}  // namespace

Rule find_rule(std::string_view op_type) {
    static const Rules rules = all_rules();
    const auto place = rules.find(op_type);
    return place == rules.end() ? nullptr : place->second;
}

Rule find_contents_rule(std::string_view op_type) {
    const auto place = contents_rules().find(op_type);
    return place == contents_rules().end() ? nullptr : place->second;
}

Shape broadcast(const Node& node, const Shape& a, const Shape& b) {
    if (a.size() < b.size()) return broadcast(node, b, a);
    Shape shape = a;
    const std::size_t more = a.size() - b.size();
    for (std::size_t axis = more; axis < a.size(); ++axis) shape[axis] = broadcast(node, a[axis], b[axis - more]);
    return shape;
}

std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) throw UnknownShape{fmt::format("{} times {} leaves 64 bits", a, b)};
    return result;
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) throw UnknownShape{fmt::format("{} plus {} leaves 64 bits", a, b)};
    return result;
}

}  // namespace convt_jit::onnx_import
