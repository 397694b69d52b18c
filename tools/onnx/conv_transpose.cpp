#include "onnx/conv_transpose.h"

#include "convt_jit/error.h"
#include "onnx/auto_pad.h"
#include "onnx/rules.h"
#include "onnx/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace convt_jit::onnx_import {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostStride = 65536;
constexpr std::size_t kFirstSpatial = 2;

DType dtype_of(const Node& node) {
    const Fact *const x = node.input(0), *const w = node.input(1);
    const int x_type = x == nullptr ? 0 : x->type, w_type = w == nullptr ? 0 : w->type;
    if (x_type != 0 && w_type != 0 && x_type != w_type)
        throw LayerError("the type of W", type_name(w_type), type_name(x_type) + ", as X has it");
    switch (const int type = w_type != 0 ? w_type : x_type) {
        case ::onnx::TensorProto::FLOAT:
            return DType::f32;
        case ::onnx::TensorProto::FLOAT16:
            return DType::f16;
        case ::onnx::TensorProto::BFLOAT16:
            return DType::bf16;
        case 0:
            throw UnknownShape{fmt::format("neither X nor W of {} has a known type", title(node.proto))};
        default:
            throw LayerError("the type of W", type_name(type), "FLOAT, FLOAT16 or BFLOAT16");
    }
}

// The weights' shape, all of it known.
std::vector<std::int64_t> weights(const Node& node) {
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : node.shape(1)) {
        if (!dim.value)
            throw UnknownShape{fmt::format("the weights of {} are {}", title(node.proto), to_string(node.shape(1)))};
        sizes.push_back(*dim.value);
    }
    if (sizes.size() < kFirstSpatial + 1 || sizes.size() > kFirstSpatial + Dims::kMax)
        throw LayerError("the shape of W", list_text(sizes), "in_channels, out_channels/group and 1 to 3 kernel sizes");
    for (std::size_t axis = 0; axis < sizes.size(); ++axis)
        if (sizes[axis] < 1 || sizes[axis] > kMost)
            throw LayerError(fmt::format("the shape of W[{}]", axis), std::to_string(sizes[axis]),
                             fmt::format("1 to {}", kMost));
    return sizes;
}

void check_kernel_shape(const Node& node, const std::vector<std::int64_t>& w) {
    const auto stated = node.attributes.integers("kernel_shape");
    const std::vector<std::int64_t> kernel(w.begin() + kFirstSpatial, w.end());
    if (stated && *stated != kernel)
        throw LayerError("kernel_shape", list_text(*stated), list_text(kernel) + ", as W has it");
}

void check_input(const Shape& x, const std::vector<std::int64_t>& w) {
    if (x.size() != w.size())
        throw LayerError("the shape of X", to_string(x), fmt::format("{} axes, as W has", w.size()));
    if (x[1].value && *x[1].value != w[0])
        throw LayerError("the channels of X", to_string(x[1]), fmt::format("{}, as W has", w[0]));
}

bool has_bias(const Node& node, std::int64_t channels) {
    if (node.proto.input_size() < 3 || node.proto.input(2).empty()) return false;
    const Fact* const bias = node.input(2);
    if (bias != nullptr && bias->shape &&
        (bias->shape->size() != 1 || bias->shape->front().value.value_or(channels) != channels))
        throw LayerError("the shape of B", to_string(*bias->shape), std::to_string(channels));
    const Fact* const w = node.input(1);
    if (bias != nullptr && w != nullptr && bias->type != 0 && w->type != 0 && bias->type != w->type)
        throw LayerError("the type of B", type_name(bias->type), type_name(w->type) + ", as W has it");
    return true;
}

Layer plain_layer(const Node& node, const std::vector<std::int64_t>& w) {
    const std::int64_t groups = node.attributes.integer("group", 1);
    if (groups < 1 || groups > kMost || w[0] % groups != 0)
        throw LayerError("group", std::to_string(groups), fmt::format("a divisor of the {} channels of X", w[0]));
    const std::int64_t out = w[1] * groups;  // both below 2^31
    if (out > kMost) throw LayerError("group", std::to_string(groups), fmt::format("up to {} channels of Y", kMost));
    Dims kernel = Dims::filled(static_cast<int>(w.size() - kFirstSpatial), 1);
    for (int axis = 0; axis < kernel.rank(); ++axis) kernel[axis] = w[static_cast<std::size_t>(axis) + kFirstSpatial];
    Layer layer = Layer::make(w[0], out, kernel);
    layer.groups = groups;
    layer.dtype = dtype_of(node);
    layer.bias = has_bias(node, out);
    return layer;
}

class Paddings {
public:
    Paddings(const Node& node, std::size_t rank)
        : node_(node),
          rank_(rank),
          mode_(parse_auto_pad(node.attributes.text("auto_pad", "NOTSET"))),
          strides_(node.attributes.per_axis("strides", rank, 1, 1, kMostStride)),
          dilations_(node.attributes.per_axis("dilations", rank, 1, 1, kMost)),
          added_(node.attributes.per_axis("output_padding", rank, 0, 0, kMost)),
          pads_(node.attributes.per_axis("pads", 2 * rank, 0, 0, kMost)) {
        if (node.attributes.has("output_shape"))
            wanted_ = node.attributes.per_axis("output_shape", rank, 1, 1, std::int64_t{1} << 60);
    }

    [[nodiscard]] bool by_rule() const { return wanted_ || mode_ != AutoPad::notset; }

    void apply(Layer& layer, const Shape& x) const {
        for (std::size_t i = 0; i < rank_; ++i) {
            const int axis = static_cast<int>(i);
            const Axis given{layer.kernel[axis], strides_[i], dilations_[i], added_[i], pads_[i], pads_[i + rank_]};
            const Padding padding = wanted_ ? for_output(i, given, x) : resolve(mode_, given);
            const std::int64_t most = std::max(given.stride, given.dilation) - 1;
            if (wanted_ && padding.output_padding > most)
                throw LayerError(fmt::format("output_shape[{}]", i), std::to_string((*wanted_)[i]),
                                 fmt::format("up to {}, what output_padding can add",
                                             (*wanted_)[i] - (padding.output_padding - most)));
            layer.stride[axis] = given.stride;
            layer.dilation[axis] = given.dilation;
            layer.pad_begin[axis] = padding.begin;
            layer.pad_end[axis] = padding.end;
            layer.output_padding[axis] = padding.output_padding;
        }
    }

    // Of an input that is not known.
    [[nodiscard]] Dim output(std::size_t axis, const Dim& input) const {
        if (wanted_) return known((*wanted_)[axis]);
        const bool same = mode_ == AutoPad::same_upper || mode_ == AutoPad::same_lower;
        return same && strides_[axis] == 1 ? input : computed_from(input);
    }

private:
    [[nodiscard]] Padding for_output(std::size_t i, const Axis& axis, const Shape& x) const {
        const Dim input = x.empty() ? Dim{} : x[i + kFirstSpatial];
        if (!input.value)
            throw UnknownShape{fmt::format("output_shape of {} says nothing without the size of X on axis {} ({})",
                                           title(node_.proto), i + kFirstSpatial, to_string(input))};
        (void)product(*input.value, axis.stride);
        (void)sum(product(*input.value, axis.stride), product(axis.kernel, axis.dilation) + axis.output_padding);
        return resolve(mode_, axis, *input.value, (*wanted_)[i]);
    }

    const Node& node_;
    std::size_t rank_;
    AutoPad mode_;
    std::vector<std::int64_t> strides_, dilations_, added_, pads_;
    std::optional<std::vector<std::int64_t>> wanted_;
};

// Where all of it is known the layer knows it.
std::string set_sizes(Layer& layer, const Shape& x) {
    std::string unknown;
    const auto miss = [&](std::size_t axis, const Dim& dim) {
        unknown += fmt::format("{}axis {} ({})", unknown.empty() ? "" : ", ", axis, to_string(dim));
    };
    const auto rank = static_cast<std::size_t>(layer.spatial_dims());
    Dims input = Dims::filled(layer.spatial_dims(), 0);
    bool all = true;
    for (std::size_t axis = 0; axis < rank + kFirstSpatial; ++axis) {
        if (axis == 1) continue;
        const Dim dim = x.empty() ? Dim{} : x[axis];
        if (!dim.value) miss(axis, dim);
        if (axis == 0)
            layer.batch = dim.value;
        else if (dim.value)
            input[static_cast<int>(axis - kFirstSpatial)] = *dim.value;
        else
            all = false;
    }
    if (all) layer.input = input;
    return unknown;
}

}  // namespace

ConvTranspose read_conv_transpose(const Node& node) {
    ConvTranspose read;
    const std::vector<std::int64_t> w = weights(node);
    const std::size_t rank = w.size() - kFirstSpatial;
    check_kernel_shape(node, w);
    if (node.input(0) != nullptr && node.input(0)->shape) {
        read.input = *node.input(0)->shape;
        check_input(read.input, w);
    }
    read.layer = plain_layer(node, w);
    const Paddings paddings(node, rank);
    paddings.apply(read.layer, read.input);
    read.by_rule = paddings.by_rule();
    read.unknown_sizes = set_sizes(read.layer, read.input);
    validate(read.layer);

    read.output = {read.input.empty() ? Dim{} : read.input[0], known(read.layer.out_channels)};
    for (std::size_t i = 0; i < rank; ++i) {
        const Dim x = read.input.empty() ? Dim{} : read.input[i + kFirstSpatial];
        // One axis may be known while another is not.
        Layer axis = Layer::make(1, 1, {read.layer.kernel[static_cast<int>(i)]});
        const auto one = [&](const Dims& dims) { return Dims{dims[static_cast<int>(i)]}; };
        axis.stride = one(read.layer.stride);
        axis.dilation = one(read.layer.dilation);
        axis.pad_begin = one(read.layer.pad_begin);
        axis.pad_end = one(read.layer.pad_end);
        axis.output_padding = one(read.layer.output_padding);
        read.output.push_back(x.value ? known(output_size(axis, {*x.value})[0]) : paddings.output(i, x));
    }
    return read;
}

}  // namespace convt_jit::onnx_import
