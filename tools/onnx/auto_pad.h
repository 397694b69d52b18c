// AutoPad: how ONNX states the padding of a ConvTranspose on one axis. Pure arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace convt_jit::onnx_import {

enum class AutoPad { notset, valid, same_upper, same_lower };
// Throws LayerError("auto_pad", ...).
[[nodiscard]] AutoPad parse_auto_pad(const std::string& text);

struct Axis {
    std::int64_t kernel = 1, stride = 1, dilation = 1, output_padding = 0;
    std::int64_t pad_begin = 0, pad_end = 0;  // as the node gives them
};

struct Padding {
    std::int64_t begin = 0, end = 0, output_padding = 0;
    friend bool operator==(const Padding& a, const Padding& b) {
        return a.begin == b.begin && a.end == b.end && a.output_padding == b.output_padding;
    }
};

// By auto_pad alone; SAME_* makes the output stride times the input, of whatever size that is. Sizes up to 2^31 cannot
// overflow here.
[[nodiscard]] Padding resolve(AutoPad mode, const Axis& axis);
// By the output's size, which leaves auto_pad nothing but where an odd crop goes, and `pads` no meaning.
[[nodiscard]] Padding resolve(AutoPad mode, const Axis& axis, std::int64_t input, std::int64_t output);

}  // namespace convt_jit::onnx_import
