// CaseJson: the fields that every file of cases shares, as a layer and a shape.
#pragma once

#include "convt_jit/convt_jit.h"

#include <nlohmann/json.hpp>

namespace convt_jit::test {

[[nodiscard]] inline Dims dims_from(const nlohmann::json& array) {
    Dims dims = Dims::filled(static_cast<int>(array.size()), 0);
    for (int axis = 0; axis < dims.rank(); ++axis)
        dims[axis] = array.at(static_cast<std::size_t>(axis)).get<std::int64_t>();
    return dims;
}

// N, Cin, in_spatial, Cout, kernel, stride, pad_begin, pad_end, output_padding, dilation, groups. Not validated.
[[nodiscard]] inline Layer layer_from(const nlohmann::json& json) {
    Layer layer = Layer::make(json.at("Cin"), json.at("Cout"), dims_from(json.at("kernel")));
    layer.stride = dims_from(json.at("stride"));
    layer.pad_begin = dims_from(json.at("pad_begin"));
    layer.pad_end = dims_from(json.at("pad_end"));
    layer.output_padding = dims_from(json.at("output_padding"));
    layer.dilation = dims_from(json.at("dilation"));
    layer.groups = json.at("groups");
    layer.batch = json.at("N").get<std::int64_t>();
    layer.input = dims_from(json.at("in_spatial"));
    return layer;
}

}  // namespace convt_jit::test
