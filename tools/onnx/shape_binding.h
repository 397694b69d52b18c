// ShapeBinding: sizes that a user gives to a model's inputs (--shape), by the names that the model has for them.
#pragma once

#include "onnx.pb.h"
#include "onnx/fact.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace convt_jit::onnx_import {

// "x=1x3x224x224", or "N=1" for a symbol.
struct ShapeRequest {
    std::string name;
    std::vector<std::int64_t> sizes;
};
// Throws LayerError("--shape", ...).
[[nodiscard]] ShapeRequest parse_shape(const std::string& text);

struct ShapeBinding {
    std::map<std::string, std::int64_t, std::less<>> symbols;
    std::map<std::string, std::vector<std::int64_t>, std::less<>> inputs;

    // As the model declares it, with what is bound.
    [[nodiscard]] Shape declared(const ::onnx::TensorShapeProto& shape) const;
};
// Throws LayerError("--shape NAME", ...) for what the model has not, or what contradicts it or another request.
[[nodiscard]] ShapeBinding bind_shapes(const ::onnx::GraphProto& graph, const std::vector<ShapeRequest>& requests);

}  // namespace convt_jit::onnx_import
