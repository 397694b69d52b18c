// Output: sizes of the output and of the tensors, and the checks that they share with validation.
#pragma once

#include "convt_jit/layer.h"

#include <cstdint>
#include <string>
#include <vector>

namespace convt_jit {

// "stride[1]"
[[nodiscard]] std::string axis_field(const char* field, int axis);

// The shape of one tensor: two leading sizes (batch and channels, or channels on both sides) and the axes.
struct TensorShape {
    std::int64_t first, second;
    Dims axes;
};
// Their product. Throws LayerError(tensor, ...) above kMaxElements; no size is negative.
[[nodiscard]] std::int64_t elements(const char* tensor, const TensorShape& shape);

// Everything of a layer but its batch and input.
void validate_fields(const Layer& layer);
// Rank and range of an input size; the layer's fields are valid.
void validate_input(const Layer& layer, const Dims& input);

}  // namespace convt_jit
