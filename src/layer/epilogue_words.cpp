#include "layer/epilogue_words.h"

#include "convt_jit/error.h"
#include "layer/tokens.h"
#include "log/printable.h"

#include <array>

namespace convt_jit {
namespace {

constexpr std::array kPlainActivations = {Activation::relu,    Activation::gelu, Activation::tanh,
                                          Activation::sigmoid, Activation::silu, Activation::hardswish};

// What follows `prefix` in `word`.
std::optional<std::string_view> after(std::string_view prefix, std::string_view word) {
    if (word.substr(0, prefix.size()) != prefix) return std::nullopt;
    return word.substr(prefix.size());
}

float number(std::string_view word, std::string_view text) {
    if (const auto value = read_float(text)) return *value;
    throw LayerError(printable(word), "not a word with a number in the range of f32",
                     "leaky0.2, scale0.5 or clamp-1:1");
}

}  // namespace

std::optional<std::string_view> read_epilogue_word(std::string_view word, Epilogue& epilogue) {
    if (word == "affine") return epilogue.affine = true, "affine";
    if (word == "residual") return epilogue.residual = true, "residual";
    for (const Activation activation : kPlainActivations)
        if (word == to_string(activation)) return epilogue.activation = activation, "activation";
    if (const auto slope = after("leaky", word)) {
        epilogue.activation = Activation::leaky_relu;
        if (!slope->empty()) epilogue.negative_slope = number(word, *slope);
        return "activation";
    }
    if (const auto scale = after("scale", word)) return epilogue.scale = number(word, *scale), "scale";
    if (const auto bounds = after("clamp", word)) {
        const std::size_t colon = std::min(bounds->find(':'), bounds->size());
        const std::string_view high = bounds->substr(std::min(colon + 1, bounds->size()));
        epilogue.clamp = {number(word, bounds->substr(0, colon)), number(word, high)};
        return "clamp";
    }
    return std::nullopt;
}

std::string epilogue_words(const Epilogue& epilogue) {
    std::string words;
    const auto add = [&](const std::string& word) { words += words.empty() ? word : " " + word; };
    if (epilogue.scale) add("scale" + print_float(*epilogue.scale));
    if (epilogue.affine) add("affine");
    if (epilogue.residual) add("residual");
    if (epilogue.activation == Activation::leaky_relu)
        add("leaky" + print_float(epilogue.negative_slope));
    else if (epilogue.activation != Activation::none)
        add(std::string(to_string(epilogue.activation)));
    if (epilogue.clamp) add("clamp" + print_float((*epilogue.clamp)[0]) + ":" + print_float((*epilogue.clamp)[1]));
    return words;
}

}  // namespace convt_jit
