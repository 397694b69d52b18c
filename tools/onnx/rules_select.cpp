// Rules of operators that choose, repeat or join elements, and of those that make tensors of nothing.

#include "convt_jit/error.h"
#include "onnx/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace convt_jit::onnx_import {
namespace {

using ::onnx::TensorProto;

int first_type(const Node& node) { return node.input(0) == nullptr ? 0 : node.input(0)->type; }

void concat(Node& node) {
    Shape shape = node.shape(0);
    // The first version has 1 where there is none.
    const std::size_t axis = axis_of("axis", node.attributes.integer("axis", 1), shape.size());
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
        const Shape& next = node.shape(i);
        if (next.size() != shape.size())
            throw UnknownShape{fmt::format("{} joins {} and {}", title(node.proto), to_string(shape), to_string(next))};
        for (std::size_t a = 0; a < shape.size(); ++a) {
            if (a != axis)
                shape[a] = shape[a].value ? shape[a] : next[a].value ? next[a] : shape[a];
            else if (shape[a].value && next[a].value)
                shape[a] = known(sum(*shape[a].value, *next[a].value));
            else
                shape[a] = computed_from(shape[a].value ? next[a] : shape[a]);
        }
    }
    node.set(0, std::move(shape), first_type(node));
}

void split(Node& node) {
    const Shape& shape = node.shape(0);
    const std::size_t axis = axis_of("axis", node.attributes.integer("axis", 0), shape.size());
    const auto sizes = node.ints_of("split", 1);
    const auto parts = static_cast<std::int64_t>(node.outputs.size());
    if (sizes && static_cast<std::int64_t>(sizes->size()) != parts)
        throw LayerError("split", fmt::format("{} long", sizes->size()), fmt::format("{}, as many as outputs", parts));
    const Dim whole = shape[axis];
    for (std::int64_t i = 0; i < parts; ++i) {
        Shape part = shape;
        if (sizes) {
            part[axis] = known((*sizes)[static_cast<std::size_t>(i)]);
        } else {
            const auto of = [&](std::int64_t size) {
                const std::int64_t most = size / parts + (size % parts != 0);  // the last one may be smaller
                return std::clamp<std::int64_t>(size - most * i, 0, most);
            };
            part[axis] = mapped(whole, of);
        }
        node.set(static_cast<std::size_t>(i), std::move(part), first_type(node));
    }
}

std::int64_t sliced(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
    const auto from_front = [size](std::int64_t at) { return at < 0 ? std::max(at, -size - 1) + size : at; };
    const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    const std::int64_t first = std::clamp(from_front(start), step > 0 ? 0 : low, high);
    const std::int64_t last = std::clamp(from_front(end), low, high);
    if (step > 0) return last > first ? (last - first - 1) / step + 1 : 0;
    if (step == std::numeric_limits<std::int64_t>::min()) return first > last ? 1 : 0;
    return first > last ? (first - last - 1) / -step + 1 : 0;
}

void slice(Node& node) {
    Shape shape = node.shape(0);
    const auto starts = node.ints_of("starts", 1), ends = node.ints_of("ends", 2);
    if (!starts || !ends || starts->size() != ends->size())
        throw LayerError("starts", "not as long as ends", "as many starts as ends");
    std::vector<std::int64_t> axes;
    if (const auto stated = node.ints_of("axes", 3))
        axes = *stated;
    else
        for (std::size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    std::vector<std::int64_t> steps(starts->size(), 1);
    if (node.input(4) != nullptr) steps = node.known_ints(4);
    if (axes.size() != starts->size() || steps.size() != starts->size())
        throw LayerError("axes", fmt::format("{} long", axes.size()), "as many as starts");
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (steps[i] == 0) throw LayerError("steps", "0", "another number");
        Dim& dim = shape[axis_of("axes", axes[i], shape.size())];
        const bool all = (*starts)[i] == 0 && steps[i] == 1 && (*ends)[i] >= std::numeric_limits<std::int32_t>::max();
        if (!all)
            dim = mapped(dim, [&](std::int64_t size) { return sliced(size, (*starts)[i], (*ends)[i], steps[i]); });
    }
    node.set(0, std::move(shape), first_type(node));
}

void pad(Node& node) {
    Shape shape = node.shape(0);
    // The first version calls them paddings.
    const auto pads = node.attributes.has("paddings") ? node.attributes.integers("paddings") : node.ints_of("pads", 1);
    if (!pads) throw LayerError("pads", "missing", "an attribute or an input");
    std::vector<std::int64_t> axes;
    if (node.input(3) != nullptr)
        axes = node.known_ints(3);
    else
        for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    if (pads->size() != 2 * axes.size())
        throw LayerError("pads", fmt::format("{} long", pads->size()), fmt::format("{} values", 2 * axes.size()));
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::int64_t more = sum((*pads)[i], (*pads)[i + axes.size()]);
        Dim& dim = shape[axis_of("axes", axes[i], shape.size())];
        if (more != 0) dim = mapped(dim, [&](std::int64_t size) { return sum(size, more); });
    }
    node.set(0, std::move(shape), first_type(node));
}

void expand(Node& node) { node.set(0, broadcast(node, node.shape(0), node.ints(1)), first_type(node)); }

void tile(Node& node) {
    Shape shape = node.shape(0);
    const std::vector<std::int64_t> repeats = node.known_ints(1);
    if (repeats.size() != shape.size())
        throw LayerError("repeats", fmt::format("{} long", repeats.size()), fmt::format("{} values", shape.size()));
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (repeats[i] != 1) shape[i] = mapped(shape[i], [&](std::int64_t size) { return product(size, repeats[i]); });
    node.set(0, std::move(shape), first_type(node));
}

void gather(Node& node) {
    const Shape &data = node.shape(0), &indices = node.shape(1);
    const std::size_t axis = axis_of("axis", node.attributes.integer("axis", 0), data.size());
    Shape shape(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
    shape.insert(shape.end(), indices.begin(), indices.end());
    shape.insert(shape.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
    node.set(0, std::move(shape), first_type(node));
}

void gather_elements(Node& node) { node.set(0, node.shape(1), first_type(node)); }

void shape(Node& node) {
    const auto rank = static_cast<std::int64_t>(node.shape(0).size());
    const std::int64_t start = node.attributes.integer("start", 0), end = node.attributes.integer("end", rank);
    node.set(0, {known(sliced(rank, start, end, 1))}, TensorProto::INT64);
}

void size(Node& node) { node.set(0, {}, TensorProto::INT64); }

// A tensor's shape comes with it (inference reads it); here are the short forms.
void constant(Node& node) {
    const Attributes& given = node.attributes;
    if (given.has("value_int")) node.set(0, {}, TensorProto::INT64);
    if (given.has("value_float")) node.set(0, {}, TensorProto::FLOAT);
    if (const auto values = given.integers("value_ints"))
        node.set(0, {known(static_cast<std::int64_t>(values->size()))}, TensorProto::INT64);
    if (const auto values = given.reals("value_floats"))
        node.set(0, {known(static_cast<std::int64_t>(values->size()))}, TensorProto::FLOAT);
    if (!node.outputs.empty() && !node.outputs[0].shape)
        throw UnknownShape{fmt::format("{} holds neither a tensor nor numbers", title(node.proto))};
}

void constant_of_shape(Node& node) {
    const TensorProto* const value = node.attributes.tensor("value");
    node.set(0, node.ints(0), value == nullptr ? static_cast<int>(TensorProto::FLOAT) : value->data_type());
}

// RandomNormal and RandomUniform.
void random(Node& node) {
    Shape sizes;
    const auto stated = node.attributes.integers("shape");
    if (!stated) throw LayerError("shape", "missing", "an attribute");
    for (const std::int64_t value : *stated) sizes.push_back(known(value));
    node.set(0, std::move(sizes), static_cast<int>(node.attributes.integer("dtype", TensorProto::FLOAT)));
}

void range(Node& node) {
    const Fact* const start = node.input(0);
    const std::vector<std::int64_t> from = node.known_ints(0), to = node.known_ints(1), by = node.known_ints(2);
    if (from.size() != 1 || to.size() != 1 || by.size() != 1 || by[0] == 0)
        throw LayerError("delta", "0, or a list", "one number that is not 0");
    std::int64_t span = 0;
    if (__builtin_sub_overflow(to[0], from[0], &span) || by[0] == std::numeric_limits<std::int64_t>::min() ||
        span == std::numeric_limits<std::int64_t>::min())
        throw UnknownShape{fmt::format("{} leaves 64 bits", title(node.proto))};
    if (by[0] < 0) span = -span;
    const std::int64_t step = std::abs(by[0]);
    node.set(0, {known(span <= 0 ? 0 : (span - 1) / step + 1)}, start->type);
}

}  // namespace

const Rules& select_rules() {
    static const Rules rules = {{"Concat", concat},       {"Split", split},
                                {"Slice", slice},         {"Pad", pad},
                                {"Expand", expand},       {"Tile", tile},
                                {"Gather", gather},       {"GatherElements", gather_elements},
                                {"Shape", shape},         {"Size", size},
                                {"Constant", constant},   {"ConstantOfShape", constant_of_shape},
                                {"RandomNormal", random}, {"RandomUniform", random},
                                {"Range", range}};
    return rules;
}

}  // namespace convt_jit::onnx_import
