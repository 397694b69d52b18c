// Rules of operators that arrange elements anew and keep them all.

#include "convt_jit/error.h"
#include "onnx/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace convt_jit::onnx_import {
namespace {

int first_type(const Node& node) { return node.input(0) == nullptr ? 0 : node.input(0)->type; }

std::vector<Dim> wanted_shape(const Node& node) {
    const auto stated = node.attributes.integers("shape");
    if (!stated) return node.ints(1);
    std::vector<Dim> wanted;
    for (const std::int64_t value : *stated) wanted.push_back(known(value));
    return wanted;
}

// What is left for the one size that is -1, after sizes that are equal on both sides.
Dim remaining(const Node& node, const Shape& whole, const Shape& others) {
    Shape from = whole, to = others;
    for (Dim& dim : to) {
        const auto equal = std::find_if(from.begin(), from.end(), [&](const Dim& other) { return other.same(dim); });
        if (equal == from.end()) continue;
        from.erase(equal);
        dim = known(1);
    }
    const auto have = elements(from), taken = elements(to);
    if (!have || !taken) {
        const auto is_unknown = [](const Dim& dim) { return !dim.value; };
        const auto symbol = std::find_if(from.begin(), from.end(), is_unknown);
        if (symbol == from.end()) return {};
        const Dim unknown = *symbol;
        from.erase(symbol);
        return taken && elements(from) == taken ? unknown : computed_from(unknown);
    }
    if (*taken <= 0 || *have % *taken != 0)
        throw UnknownShape{fmt::format("{} makes {} into {} and one size more", title(node.proto), to_string(whole),
                                       to_string(others))};
    return known(*have / *taken);
}

void reshape(Node& node) {
    const std::vector<Dim> wanted = wanted_shape(node);
    const Fact* const data = node.input(0);
    const bool zero_is_zero = node.attributes.integer("allowzero", 0) != 0;
    Shape shape, others;
    std::optional<std::size_t> open;
    for (const Dim& dim : wanted) {
        if (dim.value == -1) {
            if (open) throw LayerError("shape", "with more than one -1", "one at most");
            open = shape.size();
            shape.emplace_back();
            continue;
        }
        if (dim.value == 0 && !zero_is_zero) {
            const Shape& from = node.shape(0);
            if (shape.size() >= from.size()) throw LayerError("shape", "0 on an axis that the input has not", "a size");
            shape.push_back(from[shape.size()]);
        } else {
            shape.push_back(dim);
        }
        others.push_back(shape.back());
    }
    if (open && data != nullptr && data->shape) shape[*open] = remaining(node, *data->shape, others);
    node.set(0, std::move(shape), first_type(node));
}

Dim product_of(const Shape& shape, std::size_t from, std::size_t to) {
    Dim all = known(1);
    for (std::size_t axis = from; axis < to; ++axis) {
        if (all.value == 1)
            all = shape[axis];
        else if (shape[axis].value != 1)
            all = all.value && shape[axis].value ? known(product(*all.value, *shape[axis].value))
                                                 : computed_from(all.value ? shape[axis] : all);
    }
    return all;
}

void flatten(Node& node) {
    const Shape& shape = node.shape(0);
    const std::int64_t stated = node.attributes.integer("axis", 1);
    const std::size_t axis =
        stated == static_cast<std::int64_t>(shape.size()) ? shape.size() : axis_of("axis", stated, shape.size());
    node.set(0, {product_of(shape, 0, axis), product_of(shape, axis, shape.size())}, first_type(node));
}

void squeeze(Node& node) {
    const Shape& shape = node.shape(0);
    const auto axes = node.ints_of("axes", 1);
    std::vector<bool> gone(shape.size(), false);
    if (axes) {
        for (const std::int64_t axis : *axes) gone[axis_of("axes", axis, shape.size())] = true;
    } else {
        for (std::size_t i = 0; i < shape.size(); ++i) {
            if (!shape[i].value)
                throw UnknownShape{fmt::format("{} drops axis {} if that is 1, and it is {}", title(node.proto), i,
                                               to_string(shape[i]))};
            gone[i] = *shape[i].value == 1;
        }
    }
    Shape left;
    for (std::size_t i = 0; i < shape.size(); ++i)
        if (!gone[i]) left.push_back(shape[i]);
    node.set(0, std::move(left), first_type(node));
}

void unsqueeze(Node& node) {
    const Shape& shape = node.shape(0);
    const auto axes = node.ints_of("axes", 1);
    if (!axes) throw LayerError("axes", "missing", "an attribute or an input");
    const std::size_t rank = shape.size() + axes->size();
    if (rank > kMaxRank) throw LayerError("axes", fmt::format("{} long", axes->size()), "fewer");
    std::vector<bool> fresh(rank, false);
    for (const std::int64_t axis : *axes) {
        const std::size_t at = axis_of("axes", axis, rank);
        if (fresh[at]) throw LayerError("axes", fmt::format("{} twice", axis), "each axis once");
        fresh[at] = true;
    }
    Shape more;
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank; ++i) more.push_back(fresh[i] ? known(1) : shape[next++]);
    node.set(0, std::move(more), first_type(node));
}

void transpose(Node& node) {
    const Shape& shape = node.shape(0);
    std::vector<std::int64_t> order(shape.size());
    std::iota(order.rbegin(), order.rend(), 0);
    if (const auto stated = node.attributes.integers("perm")) order = *stated;
    std::vector<std::int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    bool is_order = sorted.size() == shape.size();
    for (std::size_t i = 0; i < sorted.size() && is_order; ++i) is_order = sorted[i] == static_cast<std::int64_t>(i);
    if (!is_order) throw LayerError("perm", list_text(order), fmt::format("each of the {} axes once", shape.size()));
    Shape turned;
    for (const std::int64_t axis : order) turned.push_back(shape[static_cast<std::size_t>(axis)]);
    node.set(0, std::move(turned), first_type(node));
}

std::int64_t block_size(const Node& node) {
    const std::int64_t block = node.attributes.integer("blocksize", 0);
    if (block < 1 || block > 65536) throw LayerError("blocksize", std::to_string(block), "1 to 65536");
    return block;
}

const Shape& image(const Node& node) {
    const Shape& shape = node.shape(0);
    if (shape.size() != 4) throw LayerError("input 0", to_string(shape), "batch, channels, height, width");
    return shape;
}

void depth_to_space(Node& node) {
    Shape shape = image(node);
    const std::int64_t block = block_size(node);
    shape[1] = mapped(shape[1], [&](std::int64_t channels) { return channels / (block * block); });
    for (const std::size_t axis : {2U, 3U})
        shape[axis] = mapped(shape[axis], [&](std::int64_t size) { return product(size, block); });
    node.set(0, std::move(shape), first_type(node));
}

void space_to_depth(Node& node) {
    Shape shape = image(node);
    const std::int64_t block = block_size(node);
    shape[1] = mapped(shape[1], [&](std::int64_t channels) { return product(channels, block * block); });
    for (const std::size_t axis : {2U, 3U})
        shape[axis] = mapped(shape[axis], [&](std::int64_t size) { return size / block; });
    node.set(0, std::move(shape), first_type(node));
}

}  // namespace

const Rules& layout_rules() {
    static const Rules rules = {{"Reshape", reshape},
                                {"Flatten", flatten},
                                {"Squeeze", squeeze},
                                {"Unsqueeze", unsqueeze},
                                {"Transpose", transpose},
                                {"DepthToSpace", depth_to_space},
                                {"SpaceToDepth", space_to_depth}};
    return rules;
}

}  // namespace convt_jit::onnx_import
