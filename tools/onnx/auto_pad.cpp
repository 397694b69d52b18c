#include "onnx/auto_pad.h"

#include "convt_jit/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace convt_jit::onnx_import {
namespace {

// The text of ConvTranspose-22: an odd crop is larger at the end for SAME_UPPER, else at the beginning (that of
// version 1 has it the other way round). Where there is less than nothing to crop the output grows, at its end.
Padding split(AutoPad mode, std::int64_t total, std::int64_t output_padding) {
    if (total < 0) return {0, 0, output_padding - total};
    const std::int64_t less = total / 2, more = total - less;
    return mode == AutoPad::same_upper ? Padding{less, more, output_padding} : Padding{more, less, output_padding};
}

// A crop at the end takes away what output_padding adds there. Where that is more than a layer may have, less of both
// is the same.
Padding within_limit(Padding padding, const Axis& axis) {
    const std::int64_t most = std::max(axis.stride, axis.dilation) - 1;
    const std::int64_t both = std::clamp<std::int64_t>(padding.output_padding - most, 0, padding.end);
    return {padding.begin, padding.end - both, padding.output_padding - both};
}

std::int64_t window(const Axis& axis) { return (axis.kernel - 1) * axis.dilation + 1; }

}  // namespace

AutoPad parse_auto_pad(const std::string& text) {
    if (text == "NOTSET" || text.empty()) return AutoPad::notset;
    if (text == "VALID") return AutoPad::valid;
    if (text == "SAME_UPPER") return AutoPad::same_upper;
    if (text == "SAME_LOWER") return AutoPad::same_lower;
    throw LayerError("auto_pad", fmt::format("\"{}\"", text), "NOTSET, VALID, SAME_UPPER or SAME_LOWER");
}

Padding resolve(AutoPad mode, const Axis& axis) {
    switch (mode) {
        case AutoPad::notset:
            return within_limit({axis.pad_begin, axis.pad_end, axis.output_padding}, axis);
        case AutoPad::valid:
            return within_limit({0, 0, axis.output_padding}, axis);
        default:
            return within_limit(split(mode, axis.output_padding + window(axis) - axis.stride, axis.output_padding),
                                axis);
    }
}

Padding resolve(AutoPad mode, const Axis& axis, std::int64_t input, std::int64_t output) {
    const std::int64_t whole = axis.stride * (input - 1) + axis.output_padding + window(axis);
    return within_limit(split(mode, whole - output, axis.output_padding), axis);
}

}  // namespace convt_jit::onnx_import
