// Rules of convolutions and poolings.

#include "convt_jit/error.h"
#include "onnx/auto_pad.h"
#include "onnx/conv_transpose.h"
#include "onnx/rules.h"

#include <fmt/format.h>

#include <limits>

namespace convt_jit::onnx_import {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kFirstSpatial = 2;

struct Windows {
    std::vector<std::int64_t> kernel, stride, dilation, pads;
    AutoPad mode = AutoPad::notset;
    bool ceil = false;
};

Windows windows(const Node& node, const std::vector<std::int64_t>& kernel) {
    const std::size_t rank = kernel.size();
    return {kernel,
            node.attributes.per_axis("strides", rank, 1, 1, kMost),
            node.attributes.per_axis("dilations", rank, 1, 1, kMost),
            node.attributes.per_axis("pads", 2 * rank, 0, 0, kMost),
            parse_auto_pad(node.attributes.text("auto_pad", "NOTSET")),
            node.attributes.integer("ceil_mode", 0) != 0};
}

std::int64_t positions(const Windows& w, std::size_t axis, std::int64_t input) {
    const std::int64_t stride = w.stride[axis], window = (w.kernel[axis] - 1) * w.dilation[axis] + 1;
    if (w.mode == AutoPad::same_upper || w.mode == AutoPad::same_lower) return input / stride + (input % stride != 0);
    const std::size_t rank = w.kernel.size();
    const bool explicit_pads = w.mode == AutoPad::notset;
    const std::int64_t begin = explicit_pads ? w.pads[axis] : 0, end = explicit_pads ? w.pads[axis + rank] : 0;
    const std::int64_t room = sum(input, begin + end - window);
    if (room < 0) throw UnknownShape{fmt::format("a window of {} does not fit into {}", window, input)};
    std::int64_t count = room / stride + 1;
    // A window may hang over the end, but not begin there.
    if (w.ceil && room % stride != 0 && product(count, stride) < sum(input, begin)) ++count;
    return count;
}

Shape slid(const Windows& w, const Shape& input, const Dim& channels) {
    Shape shape = {input[0], channels};
    for (std::size_t axis = 0; axis < w.kernel.size(); ++axis) {
        const Dim& size = input[axis + kFirstSpatial];
        const bool stays =
            w.kernel[axis] == 1 && w.stride[axis] == 1 && w.pads[axis] == 0 && w.pads[axis + w.kernel.size()] == 0;
        shape.push_back(stays ? size : mapped(size, [&](std::int64_t value) { return positions(w, axis, value); }));
    }
    return shape;
}

const Shape& image(const Node& node) {
    const Shape& shape = node.shape(0);
    if (shape.size() < kFirstSpatial)
        throw LayerError("input 0", to_string(shape), "batch, channels, and an axis for each spatial dimension");
    return shape;
}

void expect_rank(const char* field, std::size_t got, std::size_t want) {
    if (got != want) throw LayerError(field, fmt::format("{} long", got), fmt::format("{} values", want));
}

std::vector<std::int64_t> kernel_of(const Node& node, std::size_t rank) {
    if (const auto kernel = node.attributes.integers("kernel_shape")) {
        expect_rank("kernel_shape", kernel->size(), rank);
        return node.attributes.per_axis("kernel_shape", rank, 1, 1, kMost);
    }
    std::vector<std::int64_t> kernel;
    const Shape& weights = node.shape(1);
    expect_rank("the rank of input 1", weights.size(), rank + kFirstSpatial);
    for (std::size_t axis = kFirstSpatial; axis < weights.size(); ++axis) {
        if (!weights[axis].value || *weights[axis].value < 1 || *weights[axis].value > kMost)
            throw UnknownShape{fmt::format("{} has a kernel of {}", title(node.proto), to_string(weights))};
        kernel.push_back(*weights[axis].value);
    }
    return kernel;
}

void convolution(Node& node) {
    const Shape& input = image(node);
    const Shape& weights = node.shape(1);
    if (weights.empty()) throw LayerError("input 1", "a scalar", "weights");
    node.set(0, slid(windows(node, kernel_of(node, input.size() - kFirstSpatial)), input, weights[0]),
             node.input(0)->type);
}

void pooling(Node& node) {
    const Shape& input = image(node);
    const auto kernel = node.attributes.integers("kernel_shape");
    if (!kernel) throw LayerError("kernel_shape", "missing", "an attribute");
    const Shape shape = slid(windows(node, kernel_of(node, input.size() - kFirstSpatial)), input, input[1]);
    node.set(0, shape, node.input(0)->type);
    node.set(1, shape, ::onnx::TensorProto::INT64);
}

void global_pooling(Node& node) {
    Shape shape = image(node);
    for (std::size_t axis = kFirstSpatial; axis < shape.size(); ++axis) shape[axis] = known(1);
    node.set(0, std::move(shape), node.input(0)->type);
}

void conv_transpose(Node& node) {
    ConvTranspose read = read_conv_transpose(node);
    const Fact* const x = node.input(0);
    node.set(0, std::move(read.output), x != nullptr && x->type != 0 ? x->type : node.input(1)->type);
}

}  // namespace

const Rules& convolution_rules() {
    static const Rules rules = {{"Conv", convolution},
                                {"ConvInteger", convolution},
                                {"DeformConv", convolution},
                                {"MaxPool", pooling},
                                {"AveragePool", pooling},
                                {"LpPool", pooling},
                                {"GlobalAveragePool", global_pooling},
                                {"GlobalMaxPool", global_pooling},
                                {"GlobalLpPool", global_pooling},
                                {"ConvTranspose", conv_transpose}};
    return rules;
}

}  // namespace convt_jit::onnx_import
