#include "onnx/node.h"

#include "convt_jit/error.h"

#include <fmt/format.h>

namespace convt_jit::onnx_import {
namespace {

constexpr std::size_t kLongestName = 200;

std::string input_name(const ::onnx::NodeProto& node, std::size_t index) {
    if (index >= static_cast<std::size_t>(node.input_size())) return fmt::format("input {}", index);
    return fmt::format("\"{}\"", node.input(static_cast<int>(index)).substr(0, kLongestName));
}

[[noreturn]] void unknown(const Node& node, std::size_t index, const char* what) {
    const Fact* const fact = node.input(index);
    if (fact == nullptr) throw UnknownShape{fmt::format("{} has no input {}", title(node.proto), index)};
    if (fact->why) throw UnknownShape{*fact->why};  // what lies behind it, not each step from there
    throw UnknownShape{fmt::format("the {} of {}, an input of {}, {} not known", what, input_name(node.proto, index),
                                   title(node.proto), std::string_view(what) == "shape" ? "is" : "are")};
}

}  // namespace

std::string title(const ::onnx::NodeProto& node) {
    const std::string& name = !node.name().empty() || node.output_size() == 0 ? node.name() : node.output(0);
    return fmt::format("node \"{}\" ({})", name.substr(0, kLongestName), node.op_type().substr(0, kLongestName));
}

const Shape& Node::shape(std::size_t index) const {
    const Fact* const fact = input(index);
    if (fact == nullptr || !fact->shape) unknown(*this, index, "shape");
    return *fact->shape;
}

const std::vector<Dim>& Node::ints(std::size_t index) const {
    const Fact* const fact = input(index);
    if (fact == nullptr || !fact->ints) unknown(*this, index, "values");
    return *fact->ints;
}

std::vector<std::int64_t> Node::known_ints(std::size_t index) const {
    std::vector<std::int64_t> values;
    for (const Dim& dim : ints(index)) {
        if (!dim.value)
            throw UnknownShape{
                fmt::format("{} of {} holds {}", input_name(proto, index), title(proto), to_string(dim))};
        values.push_back(*dim.value);
    }
    return values;
}

std::optional<std::vector<std::int64_t>> Node::ints_of(std::string_view attribute, std::size_t index) const {
    if (auto values = attributes.integers(attribute)) return values;
    if (input(index) == nullptr) return std::nullopt;
    return known_ints(index);
}

void Node::set(std::size_t output, Shape shape, int type) {
    if (output >= outputs.size()) return;
    if (shape.size() > kMaxRank) throw UnknownShape{fmt::format("{} makes {} axes", title(proto), shape.size())};
    for (const Dim& dim : shape)
        if (dim.value && *dim.value < 0)
            throw UnknownShape{fmt::format("{} makes an axis of size {}", title(proto), *dim.value)};
    outputs[output].shape = std::move(shape);
    if (type != 0) outputs[output].type = type;
}

std::size_t axis_of(const char* field, std::int64_t axis, std::size_t rank) {
    const auto signed_rank = static_cast<std::int64_t>(rank);
    if (axis < -signed_rank || axis >= signed_rank)
        throw LayerError(field, std::to_string(axis), fmt::format("{} to {}", -signed_rank, signed_rank - 1));
    return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

}  // namespace convt_jit::onnx_import
