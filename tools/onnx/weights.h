// Weights: the constants of a model that a ConvTranspose and its epilogue read.
#pragma once

#include "convt_jit/layer.h"
#include "onnx/epilogue.h"
#include "onnx/fact.h"
#include "onnx/tensor.h"

#include <optional>
#include <vector>

namespace convt_jit::onnx_import {

// Where they are kept. What no constant holds (a model may compute its weights) is unset.
struct WeightSources {
    Fact w, bias;
    std::vector<AffineStep> affine;
};

struct Weights {
    std::optional<std::vector<double>> w, bias;
    std::vector<double> scale, shift;  // one for each output channel, rounded to f32; empty: not affine
};

// Throws LayerError, where data is missing or does not fit its shape.
[[nodiscard]] Weights read_weights(const WeightSources& sources, const Layer& layer, const ReadExternal& read);
// The external tensors among them.
[[nodiscard]] std::vector<const ::onnx::TensorProto*> external_of(const WeightSources& sources);

}  // namespace convt_jit::onnx_import
