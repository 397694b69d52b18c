// The words for the enumerations, as layer strings and layers files have them.
#include "convt_jit/layer.h"

namespace convt_jit {

std::size_t size_of(DType dtype) noexcept { return dtype == DType::f32 ? 4 : 2; }

std::string_view to_string(DType dtype) noexcept {
    switch (dtype) {
        case DType::f32:
            return "f32";
        case DType::f16:
            return "f16";
        case DType::bf16:
            return "bf16";
    }
    return "?";
}

std::string_view to_string(Precision precision) noexcept {
    switch (precision) {
        case Precision::ieee:
            return "ieee";
        case Precision::tf32:
            return "tf32";
    }
    return "?";
}

std::string_view to_string(Layout layout) noexcept {
    switch (layout) {
        case Layout::channels_first:
            return "nchw";
        case Layout::channels_last:
            return "nhwc";
    }
    return "?";
}

std::string_view to_string(Activation activation) noexcept {
    switch (activation) {
        case Activation::none:
            return "none";
        case Activation::relu:
            return "relu";
        case Activation::leaky_relu:
            return "leaky";
        case Activation::gelu:
            return "gelu";
        case Activation::tanh:
            return "tanh";
        case Activation::sigmoid:
            return "sigmoid";
        case Activation::silu:
            return "silu";
        case Activation::hardswish:
            return "hardswish";
    }
    return "?";
}

std::string_view precision_name(const Layer& layer) noexcept {
    return layer.dtype == DType::f32 ? to_string(layer.precision) : to_string(layer.dtype);
}

}  // namespace convt_jit
