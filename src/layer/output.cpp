#include "layer/output.h"

#include "convt_jit/error.h"
#include "layer/limits.h"

#include <fmt/format.h>

#include <algorithm>

namespace convt_jit {
namespace {

__extension__ typedef __int128 Wide;  // an input of 2^60 with a stride of 2^16 does not fit in 64 bits

// Output size of one axis without output_padding; fields and input are valid.
Wide natural_size(const Layer& layer, const Dims& input, int axis) {
    return Wide{input[axis] - 1} * layer.stride[axis] - layer.pad_begin[axis] - layer.pad_end[axis] +
           Wide{layer.dilation[axis]} * (layer.kernel[axis] - 1) + 1;
}

Dims output_of_valid(const Layer& layer, const Dims& input) {
    validate_input(layer, input);
    Dims output = input;
    for (int axis = 0; axis < input.rank(); ++axis) {
        const Wide size = natural_size(layer, input, axis) + layer.output_padding[axis];
        if (size < 1 || size > kMaxElements)
            throw LayerError(
                axis_field("output", axis), fmt::to_string(size),
                fmt::format("1 to {}; it follows from input {}, kernel_size {}, stride {}, dilation {}, "
                            "padding {} and {}, output_padding {}",
                            kMaxElements, input[axis], layer.kernel[axis], layer.stride[axis], layer.dilation[axis],
                            layer.pad_begin[axis], layer.pad_end[axis], layer.output_padding[axis]));
        output[axis] = static_cast<std::int64_t>(size);
    }
    return output;
}

}  // namespace

std::string axis_field(const char* field, int axis) { return fmt::format("{}[{}]", field, axis); }

std::int64_t elements(const char* tensor, const TensorShape& shape) {
    // With a size of zero the tensor is empty; the product of the others is bounded all the same, for its strides.
    const auto one_at_least = [](std::int64_t size) { return std::max<std::int64_t>(size, 1); };
    std::int64_t product = one_at_least(shape.first);
    bool fits = !__builtin_mul_overflow(product, one_at_least(shape.second), &product);
    for (const std::int64_t size : shape.axes)
        fits = fits && !__builtin_mul_overflow(product, one_at_least(size), &product);
    if (!fits || product > kMaxElements)
        throw LayerError(tensor, fmt::format("{}x{}x{}", shape.first, shape.second, to_string(shape.axes)),
                         fmt::format("at most {} elements in all", kMaxElements));
    return shape.first == 0 ? 0 : product;
}

Dims output_size(const Layer& layer, const Dims& input) {
    validate_fields(layer);
    return output_of_valid(layer, input);
}

Dims output_padding_for(const Layer& layer, const Dims& input, const Dims& wanted) {
    Layer unpadded = layer;
    unpadded.output_padding = Dims::filled(layer.kernel.rank(), 0);
    validate_fields(unpadded);
    validate_input(unpadded, input);
    if (wanted.rank() != input.rank())
        throw LayerError(
            "output_size",
            fmt::format("{}, {} values for {} spatial dimensions", to_string(wanted), wanted.rank(), input.rank()),
            fmt::format("{} values", input.rank()));
    Dims padding = wanted;
    for (int axis = 0; axis < wanted.rank(); ++axis) {
        const Wide natural = natural_size(unpadded, input, axis);
        const Wide low = std::max<Wide>(natural, 1);
        const Wide high = natural + layer.stride[axis] - 1;
        if (wanted[axis] < low || wanted[axis] > high)
            throw LayerError(axis_field("output_size", axis), std::to_string(wanted[axis]),
                             low <= high ? fmt::format("{} to {}", low, high)
                                         : fmt::format("none, as the largest size would be {}", high));
        padding[axis] = static_cast<std::int64_t>(wanted[axis] - natural);
    }
    unpadded.output_padding = padding;
    (void)output_of_valid(unpadded, input);
    return padding;
}

Sizes sizes(const Layer& layer, const Shape& shape) {
    validate_fields(layer);
    const Dims output = output_of_valid(layer, shape.input);
    if (shape.batch < 0) throw LayerError("batch", std::to_string(shape.batch), "0 or more");
    return {elements("x", {shape.batch, layer.in_channels, shape.input}),
            elements("w", {layer.in_channels, layer.out_channels_per_group(), layer.kernel}), layer.out_channels,
            elements("y", {shape.batch, layer.out_channels, output})};
}

Shape known_shape(const Layer& layer) {
    if (layer.input.empty())
        throw LayerError("in", "missing", "an input size such as in128x256, as tensors are made or run here");
    return {layer.batch.value_or(1), layer.input};
}

}  // namespace convt_jit
