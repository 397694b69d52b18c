// Epilogue: which nodes behind a ConvTranspose its kernel can do itself. Pure.
#pragma once

#include "convt_jit/layer.h"
#include "onnx/inference.h"
#include "onnx/uses.h"

#include <string>
#include <vector>

namespace convt_jit::onnx_import {

// A part of the per-channel scale and shift: constants of the model, each of one number or one per channel.
struct AffineStep {
    const ::onnx::TensorProto *scale = nullptr, *shift = nullptr;    // nullptr: 1, 0
    const ::onnx::TensorProto *mean = nullptr, *variance = nullptr;  // of a batch normalisation
    double epsilon = 0;
};

struct EpilogueMatch {
    Epilogue epilogue;
    std::vector<AffineStep> affine;               // in their order
    std::vector<const ::onnx::NodeProto*> nodes;  // in their order
    std::string residual;                         // the value that is added
};

// Takes nodes as long as each is the only one that reads what it takes, and their order is that of an epilogue's steps.
[[nodiscard]] EpilogueMatch match_epilogue(const ::onnx::NodeProto& node, const Shape& output, const Layer& layer,
                                           const InferredGraph& graph, const Uses& uses, std::int64_t opset);

}  // namespace convt_jit::onnx_import
