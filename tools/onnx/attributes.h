// Attributes of a node, each read as the type that it must have.
#pragma once

#include "onnx.pb.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit::onnx_import {

// All throw LayerError with the attribute's name, what it is and what is allowed.
class Attributes {
public:
    explicit Attributes(const ::onnx::NodeProto& node) : node_(&node) {}

    [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
    [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
    [[nodiscard]] float real(std::string_view name, float otherwise) const;
    [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
    [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
    [[nodiscard]] std::optional<std::vector<float>> reals(std::string_view name) const;
    // nullptr: not there.
    [[nodiscard]] const ::onnx::TensorProto* tensor(std::string_view name) const;
    // As many values as `count`, each from `low` to `high`; where it is not there, `otherwise` for each.
    [[nodiscard]] std::vector<std::int64_t> per_axis(std::string_view name, std::size_t count, std::int64_t otherwise,
                                                     std::int64_t low, std::int64_t high) const;

private:
    [[nodiscard]] const ::onnx::AttributeProto* find(std::string_view name) const;
    [[nodiscard]] const ::onnx::AttributeProto* find(std::string_view name,
                                                     ::onnx::AttributeProto::AttributeType type) const;

    const ::onnx::NodeProto* node_;
};

// "[1, 2, 3]", cut where it is long.
[[nodiscard]] std::string list_text(const std::vector<std::int64_t>& values);

}  // namespace convt_jit::onnx_import
