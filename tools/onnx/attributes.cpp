#include "onnx/attributes.h"

#include "convt_jit/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace convt_jit::onnx_import {
namespace {

using ::onnx::AttributeProto;

constexpr std::size_t kLongestText = 100, kLongestList = 16;

std::string type_name(int type) {
    constexpr std::array<const char*, 15> kNames = {
        "UNDEFINED", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
        "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
    const auto index = static_cast<std::size_t>(type);
    return type >= 0 && index < kNames.size() ? kNames[index] : std::to_string(type);
}

// The first IR versions had no `type`: there, what is filled tells.
bool is_filled(const AttributeProto& attribute, AttributeProto::AttributeType type) {
    switch (type) {
        case AttributeProto::INT:
            return attribute.has_i();
        case AttributeProto::FLOAT:
            return attribute.has_f();
        case AttributeProto::STRING:
            return attribute.has_s();
        case AttributeProto::TENSOR:
            return attribute.has_t();
        default:
            return true;  // a list may be empty
    }
}

}  // namespace

std::string list_text(const std::vector<std::int64_t>& values) {
    const auto shown = std::min(values.size(), kLongestList);
    return fmt::format("[{}{}]", fmt::join(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                       shown < values.size() ? fmt::format(", ... {} in all", values.size()) : "");
}

const AttributeProto* Attributes::find(std::string_view name) const {
    const AttributeProto* found = nullptr;
    for (const AttributeProto& attribute : node_->attribute()) {
        if (attribute.name() != name) continue;
        if (found != nullptr) throw LayerError(std::string(name), "given twice", "one value");
        found = &attribute;
    }
    return found;
}

const AttributeProto* Attributes::find(std::string_view name, AttributeProto::AttributeType type) const {
    const AttributeProto* const attribute = find(name);
    if (attribute == nullptr) return nullptr;
    if (!attribute->ref_attr_name().empty())
        throw LayerError(std::string(name), "a reference to an attribute of a function", "a value");
    const bool right =
        attribute->type() == AttributeProto::UNDEFINED ? is_filled(*attribute, type) : attribute->type() == type;
    if (!right)
        throw LayerError(std::string(name), "of type " + type_name(attribute->type()), "type " + type_name(type));
    return attribute;
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t otherwise) const {
    const AttributeProto* const attribute = find(name, AttributeProto::INT);
    return attribute == nullptr ? otherwise : attribute->i();
}

float Attributes::real(std::string_view name, float otherwise) const {
    const AttributeProto* const attribute = find(name, AttributeProto::FLOAT);
    return attribute == nullptr ? otherwise : attribute->f();
}

std::string Attributes::text(std::string_view name, std::string_view otherwise) const {
    const AttributeProto* const attribute = find(name, AttributeProto::STRING);
    return attribute == nullptr ? std::string(otherwise) : attribute->s().substr(0, kLongestText);
}

std::optional<std::vector<std::int64_t>> Attributes::integers(std::string_view name) const {
    const AttributeProto* const attribute = find(name, AttributeProto::INTS);
    if (attribute == nullptr) return std::nullopt;
    return std::vector<std::int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::optional<std::vector<float>> Attributes::reals(std::string_view name) const {
    const AttributeProto* const attribute = find(name, AttributeProto::FLOATS);
    if (attribute == nullptr) return std::nullopt;
    return std::vector<float>(attribute->floats().begin(), attribute->floats().end());
}

const ::onnx::TensorProto* Attributes::tensor(std::string_view name) const {
    const AttributeProto* const attribute = find(name, AttributeProto::TENSOR);
    return attribute == nullptr ? nullptr : &attribute->t();
}

std::vector<std::int64_t> Attributes::per_axis(std::string_view name, std::size_t count, std::int64_t otherwise,
                                               std::int64_t low, std::int64_t high) const {
    const auto values = integers(name);
    if (!values) return std::vector<std::int64_t>(count, otherwise);
    if (values->size() != count)
        throw LayerError(std::string(name), list_text(*values), fmt::format("{} values", count));
    for (std::size_t i = 0; i < count; ++i)
        if ((*values)[i] < low || (*values)[i] > high)
            throw LayerError(fmt::format("{}[{}]", name, i), std::to_string((*values)[i]),
                             fmt::format("{} to {}", low, high));
    return *values;
}

}  // namespace convt_jit::onnx_import
