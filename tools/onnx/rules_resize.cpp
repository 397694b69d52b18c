// Rules of Resize and Upsample, whose sizes or scales came as attributes, as one input, or as one of two.

#include "convt_jit/error.h"
#include "onnx/rules.h"

#include <fmt/format.h>

#include <cmath>

namespace convt_jit::onnx_import {
namespace {

constexpr float kMostSize = 1e15F;

std::vector<float> scales_of(const Node& node, std::size_t input) {
    if (const auto scales = node.attributes.reals("scales")) return *scales;
    if (node.attributes.has("height_scale") || node.attributes.has("width_scale"))
        return {1, 1, node.attributes.real("height_scale", 1), node.attributes.real("width_scale", 1)};
    const Fact* const fact = node.input(input);
    if (fact == nullptr || !fact->reals)
        throw UnknownShape{fmt::format("the scales of {} are not known", title(node.proto))};
    std::vector<float> scales;
    for (const std::optional<double>& value : *fact->reals) {
        if (!value) throw UnknownShape{fmt::format("a scale of {} is not known", title(node.proto))};
        scales.push_back(static_cast<float>(*value));
    }
    return scales;
}

std::int64_t scaled(std::int64_t size, float scale) {
    const float result = std::floor(static_cast<float>(size) * scale);
    if (!(result >= 0 && result < kMostSize)) throw LayerError("scales", fmt::format("{}", scale), "above 0");
    return static_cast<std::int64_t>(result);
}

std::vector<std::size_t> axes_of(const Node& node, std::size_t rank) {
    std::vector<std::size_t> axes;
    if (const auto stated = node.attributes.integers("axes"))
        for (const std::int64_t axis : *stated) axes.push_back(axis_of("axes", axis, rank));
    else
        for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
}

void expect_count(const char* field, std::size_t got, std::size_t want) {
    if (got != want) throw LayerError(field, fmt::format("{} long", got), fmt::format("{} values", want));
}

void by_scales(Node& node, std::size_t input) {
    Shape shape = node.shape(0);
    const std::vector<float> scales = scales_of(node, input);
    const std::vector<std::size_t> axes = axes_of(node, shape.size());
    expect_count("scales", scales.size(), axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (scales[i] != 1)
            shape[axes[i]] = mapped(shape[axes[i]], [&](std::int64_t size) { return scaled(size, scales[i]); });
    node.set(0, std::move(shape), node.input(0)->type);
}

void by_sizes(Node& node, std::size_t input) {
    Shape shape = node.shape(0);
    const std::vector<Dim>& sizes = node.ints(input);
    const std::vector<std::size_t> axes = axes_of(node, shape.size());
    expect_count("sizes", sizes.size(), axes.size());
    const std::string policy = node.attributes.text("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") throw UnknownShape{fmt::format("{} keeps the aspect ratio", title(node.proto))};
    for (std::size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = sizes[i];
    node.set(0, std::move(shape), node.input(0)->type);
}

bool is_given(const Node& node, std::size_t input) {
    const Fact* const fact = node.input(input);
    return fact != nullptr && !(fact->shape && elements(*fact->shape) == 0);
}

// Version 10 has the scales as input 1; later ones have regions there, then scales, then sizes.
void resize(Node& node) {
    if (node.attributes.text("coordinate_transformation_mode", "") == "tf_crop_and_resize")
        throw UnknownShape{fmt::format("{} crops", title(node.proto))};
    if (node.opset < 11)
        by_scales(node, 1);
    else if (is_given(node, 3))
        by_sizes(node, 3);
    else
        by_scales(node, 2);
}

void upsample(Node& node) { by_scales(node, 1); }

// The grid has the output's spatial sizes.
void grid_sample(Node& node) {
    const Shape &x = node.shape(0), &grid = node.shape(1);
    if (x.size() < 3 || grid.size() != x.size())
        throw LayerError("input 1", to_string(grid), "as many axes as input 0");
    Shape shape = {x[0], x[1]};
    shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
    node.set(0, std::move(shape), node.input(0)->type);
}

}  // namespace

const Rules& resize_rules() {
    static const Rules rules = {{"Resize", resize}, {"Upsample", upsample}, {"GridSample", grid_sample}};
    return rules;
}

}  // namespace convt_jit::onnx_import
