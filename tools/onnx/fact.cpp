#include "onnx/fact.h"

#include <fmt/format.h>

#include <string_view>

namespace convt_jit::onnx_import {
namespace {

constexpr std::size_t kLongestSymbol = 64;

}  // namespace

bool Dim::same(const Dim& other) const {
    if (value || other.value) return value == other.value;
    return !symbol.empty() && symbol.front() != '~' && symbol == other.symbol;
}

Dim known(std::int64_t value) { return {value, ""}; }

Dim computed_from(const Dim& dim) {
    if (dim.symbol.empty() || dim.symbol.front() == '~') return {std::nullopt, dim.symbol};
    return {std::nullopt, fmt::format("~{}", std::string_view(dim.symbol).substr(0, kLongestSymbol))};
}

std::string to_string(const Dim& dim) {
    if (dim.value) return std::to_string(*dim.value);
    if (dim.symbol.empty()) return "?";
    return dim.symbol.front() == '~' ? fmt::format("something of {}", std::string_view(dim.symbol).substr(1))
                                     : dim.symbol;
}

std::string to_string(const Shape& shape) {
    if (shape.empty()) return "scalar";
    std::string text;
    for (const Dim& dim : shape) text += fmt::format("{}{}", text.empty() ? "" : "x", to_string(dim));
    return text;
}

std::optional<std::int64_t> elements(const Shape& shape) {
    std::int64_t product = 1;
    for (const Dim& dim : shape)
        if (!dim.value || __builtin_mul_overflow(product, *dim.value, &product)) return std::nullopt;
    return product;
}

}  // namespace convt_jit::onnx_import
