// Layer: the only truth about the operation. A plain value: compare it, print it, hash it, store it.
//
// Transposed convolution in 1, 2 or 3 spatial dimensions. Along one axis:
//
//   out  = (in - 1)*stride - pad_begin - pad_end + dilation*(kernel - 1) + output_padding + 1
//   y[o] = sum over k of x[i]*w[k]   for all k with  o + pad_begin - k*dilation = i*stride,  0 <= i < in
//
// (PyTorch's ConvTranspose; Dumoulin & Visin, "A guide to convolution arithmetic for deep learning", ch. 4.)
#pragma once

#include "convt_jit/export.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

/// Up to three numbers, one per spatial axis, outermost first ({depth, height, width}, {height, width} or {width}).
class CONVT_JIT_API Dims {
public:
    static constexpr int kMax = 3;

    Dims() = default;
    /// Throws LayerError for more than three values.
    Dims(std::initializer_list<std::int64_t> values);
    /// `rank` times the same value. Throws LayerError for a rank outside 0..3.
    static Dims filled(int rank, std::int64_t value);

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] bool empty() const noexcept { return rank_ == 0; }
    [[nodiscard]] std::int64_t operator[](int axis) const noexcept { return values_[static_cast<std::size_t>(axis)]; }
    [[nodiscard]] std::int64_t& operator[](int axis) noexcept { return values_[static_cast<std::size_t>(axis)]; }
    [[nodiscard]] const std::int64_t* begin() const noexcept { return values_.data(); }
    [[nodiscard]] const std::int64_t* end() const noexcept { return values_.data() + rank_; }
    friend bool operator==(const Dims& a, const Dims& b) noexcept {
        return a.rank_ == b.rank_ && a.values_ == b.values_;
    }
    friend bool operator!=(const Dims& a, const Dims& b) noexcept { return !(a == b); }

private:
    std::array<std::int64_t, kMax> values_{};  // unused places stay zero, so that equality is memberwise
    int rank_ = 0;
};

/// "3x5"
[[nodiscard]] CONVT_JIT_API std::string to_string(const Dims& dims);

enum class DType { f32, f16, bf16 };
/// How products of 32-bit tensors are formed. `ieee`: relative L2 error against f64 as plain fp32 arithmetic has it.
enum class Precision { ieee, tf32 };
/// `channels_first`: (N, C, *spatial). `channels_last`: (N, *spatial, C). Weights are always (C, O/groups, *kernel).
enum class Layout { channels_first, channels_last };
enum class Activation { none, relu, leaky_relu, gelu, tanh, sigmoid, silu, hardswish };

/// Bytes of one element.
[[nodiscard]] CONVT_JIT_API std::size_t size_of(DType dtype) noexcept;

/// What happens to an output element between the sum and the one store, in this order:
///   v = sum + bias[c];  v *= scale;  v = v*scale_c[c] + shift_c[c];  v += residual;  v = activation(v);  v = clamp(v)
/// Steps that are off are not compiled in. GELU is the exact one, 0.5*v*(1 + erf(v/sqrt(2))) (Hendrycks & Gimpel 2016).
struct Epilogue {
    Activation activation = Activation::none;
    float negative_slope = 0.01f;               ///< of leaky_relu
    std::optional<float> scale;                 ///< one factor for all elements
    bool affine = false;                        ///< per-channel scale and shift (f32 vectors of out_channels)
    bool residual = false;                      ///< a tensor of y's shape, dtype and layout is added
    std::optional<std::array<float, 2>> clamp;  ///< {low, high}; NaN stays NaN

    /// The slope counts only where the activation uses it.
    friend bool operator==(const Epilogue& a, const Epilogue& b) noexcept {
        return a.activation == b.activation &&
               (a.activation != Activation::leaky_relu || a.negative_slope == b.negative_slope) && a.scale == b.scale &&
               a.affine == b.affine && a.residual == b.residual && a.clamp == b.clamp;
    }
    friend bool operator!=(const Epilogue& a, const Epilogue& b) noexcept { return !(a == b); }
};

/// One transposed-convolution layer. `kernel.rank()` is the number of spatial dimensions; the other Dims have the same
/// rank. Build it with `Layer::make` or `parse_layer`, which fill PyTorch's defaults, or member by member.
struct CONVT_JIT_API Layer {
    std::int64_t in_channels = 0;
    std::int64_t out_channels = 0;
    std::int64_t groups = 1;  ///< channel groups are contiguous blocks on both sides
    Dims kernel, stride, dilation, pad_begin, pad_end, output_padding;
    bool bias = false;         ///< a vector of out_channels, in the layer's dtype
    DType dtype = DType::f32;  ///< of x, w, bias, residual and y
    Precision precision = Precision::ieee;
    Layout layout = Layout::channels_first;
    Epilogue epilogue;
    std::optional<std::int64_t> batch;  ///< known batch size, else given at launch
    Dims input;                         ///< known input size, else empty and given at launch

    /// A layer with PyTorch's defaults: stride 1, no padding, dilation 1, one group.
    [[nodiscard]] static Layer make(std::int64_t in_channels, std::int64_t out_channels, const Dims& kernel);

    [[nodiscard]] int spatial_dims() const noexcept { return kernel.rank(); }
    [[nodiscard]] std::int64_t in_channels_per_group() const noexcept { return in_channels / groups; }
    [[nodiscard]] std::int64_t out_channels_per_group() const noexcept { return out_channels / groups; }
    friend CONVT_JIT_API bool operator==(const Layer& a, const Layer& b) noexcept;
    friend bool operator!=(const Layer& a, const Layer& b) noexcept { return !(a == b); }
};

/// Batch and input size of one launch.
struct Shape {
    std::int64_t batch = 0;  ///< zero is fine: nothing is launched
    Dims input;
};

/// Throws LayerError that names the first field that is wrong, its value and what is allowed.
CONVT_JIT_API void validate(const Layer& layer);
/// The same for a shape of that layer: rank, sizes, an output of at least 1 on each axis, no overflow of sizes.
CONVT_JIT_API void validate(const Layer& layer, const Shape& shape);
/// The shape that the layer itself knows. Throws LayerError("in", ...) where it knows none; batch defaults to 1.
[[nodiscard]] CONVT_JIT_API Shape known_shape(const Layer& layer);

/// Output size for an input size (the formula above). Throws LayerError where an axis would be below 1 or overflows.
[[nodiscard]] CONVT_JIT_API Dims output_size(const Layer& layer, const Dims& input);
/// The output_padding that yields `wanted`, as nn.ConvTranspose2d.forward(output_size=...) resolves it.
/// Throws LayerError("output_size[axis]", ...) outside [natural, natural + stride - 1].
[[nodiscard]] CONVT_JIT_API Dims output_padding_for(const Layer& layer, const Dims& input, const Dims& wanted);

/// Number of elements of each tensor.
struct Sizes {
    std::int64_t x, w, channels, y;  ///< `channels`: of bias, scale and shift
};
[[nodiscard]] CONVT_JIT_API Sizes sizes(const Layer& layer, const Shape& shape);

/// Reads a layer string such as "n16 c32 o64 in128x256 k3x5 s2x3 p1x2 d2x1 g4 bias f32" (docs/layer.md).
/// Throws LayerError that names the token and its column; the layer is validated.
[[nodiscard]] CONVT_JIT_API Layer parse_layer(std::string_view text);
/// The canonical layer string; parse_layer(to_string(layer)) == layer.
[[nodiscard]] CONVT_JIT_API std::string to_string(const Layer& layer);
[[nodiscard]] CONVT_JIT_API std::string_view to_string(DType dtype) noexcept;
[[nodiscard]] CONVT_JIT_API std::string_view to_string(Precision precision) noexcept;
[[nodiscard]] CONVT_JIT_API std::string_view to_string(Layout layout) noexcept;
[[nodiscard]] CONVT_JIT_API std::string_view to_string(Activation activation) noexcept;
/// What the numbers are computed in, as bench files name it: "ieee", "tf32", "f16" or "bf16".
[[nodiscard]] CONVT_JIT_API std::string_view precision_name(const Layer& layer) noexcept;

/// A layer of a layers file.
struct NamedLayer {
    std::string name;  ///< may be empty
    Layer layer;
    std::string where = {};  ///< "layers.jsonl:3"; empty where it comes from no file
};
/// One JSON object with PyTorch's argument names (docs/layer.md). Throws LayerError; the layer is validated.
[[nodiscard]] CONVT_JIT_API NamedLayer parse_layer_json(std::string_view line);
[[nodiscard]] CONVT_JIT_API std::string to_json(const NamedLayer& layer);
/// A file of JSON lines; empty lines and lines that start with '#' are skipped. Throws LayerError with path and line.
[[nodiscard]] CONVT_JIT_API std::vector<NamedLayer> read_layers_file(const std::string& path);

}  // namespace convt_jit
