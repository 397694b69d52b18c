// Fact: what is known of a value of a graph before anything runs.
#pragma once

#include "onnx.pb.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convt_jit::onnx_import {

// A size, or an entry of a small tensor of whole numbers.
struct Dim {
    std::optional<std::int64_t> value;
    std::string symbol = {};  // of an unknown one: its name in the model, "~N" where it was computed from N, or empty

    // Certainly the same number. What was computed from a symbol is equal to nothing.
    [[nodiscard]] bool same(const Dim& other) const;
};
[[nodiscard]] Dim known(std::int64_t value);
// Some unknown function of that one.
[[nodiscard]] Dim computed_from(const Dim& dim);
// "224", "H", "something of H" or "?".
[[nodiscard]] std::string to_string(const Dim& dim);

using Shape = std::vector<Dim>;
// "1x3xHxW"; "scalar" where it has no axes.
[[nodiscard]] std::string to_string(const Shape& shape);
// The product of all sizes; unset where one is unknown or it leaves 64 bits.
[[nodiscard]] std::optional<std::int64_t> elements(const Shape& shape);

struct Fact {
    int type = 0;  // a TensorProto::DataType; 0: unknown
    std::optional<Shape> shape;
    // All entries of a small tensor, in C order: of whole numbers, or of floating-point ones.
    std::shared_ptr<const std::vector<Dim>> ints;
    std::shared_ptr<const std::vector<std::optional<double>>> reals;
    const ::onnx::TensorProto* constant = nullptr;  // of the model, where it is one
    std::shared_ptr<const std::string> why;         // the shape, or a size, is not known
};

// Larger ranks and contents are not followed: no model needs them, and memory stays linear in the file.
inline constexpr std::size_t kMaxRank = 16, kMaxContents = 1024;

}  // namespace convt_jit::onnx_import
