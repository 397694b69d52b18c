#include "convt_jit/error.h"
#include "convt_jit/layer.h"
#include "layer/limits.h"
#include "layer/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace convt_jit {
namespace {

// Runs before each launch: nothing is formatted or allocated unless something is wrong.
void check_range(const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high) throw LayerError(field, std::to_string(value), fmt::format("{} to {}", low, high));
}

void check_rank(const char* field, const Dims& dims, int rank) {
    if (dims.rank() == rank) return;
    const std::string values = dims.empty() ? "" : to_string(dims) + ", ";
    throw LayerError(field, fmt::format("{}{} values for {} spatial dimensions", values, dims.rank(), rank),
                     fmt::format("{} values", rank));
}

void check_axes(const char* field, const Dims& dims, int rank, std::int64_t low, std::int64_t high) {
    check_rank(field, dims, rank);
    for (int axis = 0; axis < rank; ++axis)
        if (dims[axis] < low || dims[axis] > high)
            throw LayerError(axis_field(field, axis), std::to_string(dims[axis]), fmt::format("{} to {}", low, high));
}

void check_channels(const Layer& layer) {
    check_range("in_channels", layer.in_channels, 1, kMaxSize);
    check_range("out_channels", layer.out_channels, 1, kMaxSize);
    check_range("groups", layer.groups, 1, kMaxSize);
    if (layer.in_channels % layer.groups != 0 || layer.out_channels % layer.groups != 0)
        throw LayerError("groups", std::to_string(layer.groups),
                         fmt::format("common divisors of in_channels {} and out_channels {}", layer.in_channels,
                                     layer.out_channels));
}

void check_geometry(const Layer& layer) {
    const int rank = layer.kernel.rank();
    if (rank < 1) throw LayerError("kernel_size", "empty", "1, 2 or 3 values");
    check_axes("kernel_size", layer.kernel, rank, 1, kMaxSize);
    check_axes("stride", layer.stride, rank, 1, kMaxStride);
    check_axes("dilation", layer.dilation, rank, 1, kMaxSize);
    check_axes("padding", layer.pad_begin, rank, 0, kMaxSize);
    check_axes("padding_end", layer.pad_end, rank, 0, kMaxSize);
    check_rank("output_padding", layer.output_padding, rank);
    for (int axis = 0; axis < rank; ++axis) {
        const std::int64_t high = std::max(layer.stride[axis], layer.dilation[axis]) - 1;
        if (layer.output_padding[axis] < 0 || layer.output_padding[axis] > high)
            throw LayerError(axis_field("output_padding", axis), std::to_string(layer.output_padding[axis]),
                             fmt::format("0 to {}, below max(stride {}, dilation {})", high, layer.stride[axis],
                                         layer.dilation[axis]));
    }
}

// A value that came through a cast, say from C, may be none of the enumeration's.
template <class Enum>
void check_known(const char* field, Enum value, Enum last) {
    if (value < Enum{} || value > last)
        throw LayerError(field, std::to_string(static_cast<int>(value)),
                         fmt::format("{} to {}", to_string(Enum{}), to_string(last)));
}

void check_number_format(const Layer& layer) {
    check_known("dtype", layer.dtype, DType::bf16);
    check_known("precision", layer.precision, Precision::tf32);
    check_known("layout", layer.layout, Layout::channels_last);
    if (layer.precision == Precision::tf32 && layer.dtype != DType::f32)
        throw LayerError("precision", fmt::format("tf32 with dtype {}", to_string(layer.dtype)),
                         "tf32 with dtype f32 only");
}

void check_epilogue(const Epilogue& epilogue) {
    check_known("epilogue.activation", epilogue.activation, Activation::hardswish);
    if (epilogue.activation == Activation::leaky_relu && !std::isfinite(epilogue.negative_slope))
        throw LayerError("epilogue.negative_slope", fmt::format("{}", epilogue.negative_slope), "a finite number");
    if (epilogue.scale && !std::isfinite(*epilogue.scale))
        throw LayerError("epilogue.scale", fmt::format("{}", *epilogue.scale), "a finite number");
    if (epilogue.clamp) {
        const auto [low, high] = *epilogue.clamp;
        if (!(low <= high))  // also where one is NaN
            throw LayerError("epilogue.clamp", fmt::format("{}:{}", low, high),
                             "low:high with low <= high, neither NaN");
    }
}

void check_batch(std::int64_t batch) { check_range("batch", batch, 0, kMaxElements); }

}  // namespace

void validate_fields(const Layer& layer) {
    check_channels(layer);
    check_geometry(layer);
    check_number_format(layer);
    check_epilogue(layer.epilogue);
    (void)elements("w", {layer.in_channels, layer.out_channels_per_group(), layer.kernel});
}

void validate_input(const Layer& layer, const Dims& input) {
    check_axes("input", input, layer.spatial_dims(), 1, kMaxElements);
}

void validate(const Layer& layer, const Shape& shape) {
    check_batch(shape.batch);
    (void)sizes(layer, shape);
}

void validate(const Layer& layer) {
    if (layer.batch) check_batch(*layer.batch);
    if (layer.input.empty())
        validate_fields(layer);
    else
        (void)sizes(layer, {layer.batch.value_or(1), layer.input});
}

}  // namespace convt_jit
