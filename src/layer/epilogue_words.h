// EpilogueWords: an epilogue as words ("scale0.5 affine residual leaky0.2 clamp-1:1"), in layer strings and files.
#pragma once

#include "convt_jit/layer.h"

#include <optional>
#include <string>
#include <string_view>

namespace convt_jit {

// Adds what a word says to an epilogue and returns what it set ("activation"), which no second word may set again.
// Nothing for a word that is not of an epilogue. Throws LayerError(word, ...) for one with a bad number.
[[nodiscard]] std::optional<std::string_view> read_epilogue_word(std::string_view word, Epilogue& epilogue);
// Words in the order of execution; empty where the epilogue does nothing.
[[nodiscard]] std::string epilogue_words(const Epilogue& epilogue);

inline constexpr std::string_view kEpilogueWords =
    "scale0.5, affine, residual, relu, leaky0.2, gelu, tanh, sigmoid, silu, hardswish, clamp-1:1";

}  // namespace convt_jit
