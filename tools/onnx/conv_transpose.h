// ConvTranspose: an ONNX node of that operator as a layer. Pure.
#pragma once

#include "convt_jit/layer.h"
#include "onnx/node.h"

#include <string>

namespace convt_jit::onnx_import {

// The version whose text is applied to all: 1 and 11 say less, and 1 contradicts it where a crop is odd.
inline constexpr const char* kAppliedVersion = "ConvTranspose-22";

struct ConvTranspose {
    Layer layer;                // batch and input only where all their sizes are known
    Shape input, output;        // input is empty where not even its rank is known
    std::string unknown_sizes;  // of the input, by their names: "axis 0 (N), axis 2 (H)"
    bool by_rule = false;       // auto_pad or output_shape had a say
};

// Throws LayerError that names the attribute, UnknownShape where it cannot be told.
[[nodiscard]] ConvTranspose read_conv_transpose(const Node& node);

}  // namespace convt_jit::onnx_import
