#include "onnx/shape_binding.h"

#include "convt_jit/error.h"
#include "onnx/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace convt_jit::onnx_import {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 60;
constexpr std::size_t kMostNames = 20, kLongestName = 64;

using Inputs = std::map<std::string, const ::onnx::TensorShapeProto*, std::less<>>;

// Those that are not weights; nullptr: of no shape.
Inputs inputs_of(const ::onnx::GraphProto& graph) {
    std::set<std::string, std::less<>> weights;
    for (const auto& tensor : graph.initializer()) weights.insert(tensor.name());
    Inputs inputs;
    for (const auto& input : graph.input()) {
        if (weights.count(input.name()) != 0) continue;
        const auto& type = input.type();
        const bool has_shape = type.has_tensor_type() && type.tensor_type().has_shape();
        inputs[input.name()] = has_shape ? &type.tensor_type().shape() : nullptr;
    }
    return inputs;
}

std::string names_of(const Inputs& inputs) {
    std::set<std::string> names;
    for (const auto& [name, shape] : inputs) {
        names.insert(fmt::format("\"{}\"", name.substr(0, kLongestName)));
        if (shape == nullptr) continue;
        for (const auto& dim : shape->dim())
            if (!dim.dim_param().empty()) names.insert(fmt::format("\"{}\"", dim.dim_param().substr(0, kLongestName)));
        if (names.size() > kMostNames) break;
    }
    return names.empty() ? "nothing, as the model has no inputs" : fmt::format("{}", fmt::join(names, ", "));
}

void bind(ShapeBinding& binding, const std::string& symbol, std::int64_t size) {
    const auto [place, fresh] = binding.symbols.try_emplace(symbol, size);
    if (!fresh && place->second != size)
        throw LayerError("--shape " + symbol, std::to_string(size),
                         fmt::format("{}, as given elsewhere", place->second));
}

void bind_input(ShapeBinding& binding, const ShapeRequest& request, const ::onnx::TensorShapeProto* declared) {
    const std::string field = "--shape " + request.name;
    if (!binding.inputs.try_emplace(request.name, request.sizes).second)
        throw LayerError(field, "given twice", "one shape");
    if (declared == nullptr) return;
    if (declared->dim_size() != static_cast<int>(request.sizes.size()))
        throw LayerError(field, list_text(request.sizes), fmt::format("{} sizes", declared->dim_size()));
    for (int axis = 0; axis < declared->dim_size(); ++axis) {
        const auto& dim = declared->dim(axis);
        const std::int64_t size = request.sizes[static_cast<std::size_t>(axis)];
        if (dim.has_dim_value() && dim.dim_value() >= 0 && dim.dim_value() != size)
            throw LayerError(fmt::format("{} (axis {})", field, axis), std::to_string(size),
                             fmt::format("{}, as the model has it", dim.dim_value()));
        if (!dim.dim_param().empty()) bind(binding, dim.dim_param(), size);
    }
}

bool has_symbol(const Inputs& inputs, const std::string& name) {
    for (const auto& [input, shape] : inputs)
        if (shape != nullptr)
            for (const auto& dim : shape->dim())
                if (dim.dim_param() == name) return true;
    return false;
}

}  // namespace

ShapeRequest parse_shape(const std::string& text) {
    const std::size_t equals = text.rfind('=');
    const auto refuse = [&] {
        return LayerError("--shape", fmt::format("\"{}\"", text),
                          "NAME=SIZES such as x=1x3x224x224, sizes from 0 to 2^60");
    };
    if (equals == std::string::npos || equals == 0) throw refuse();
    ShapeRequest request{text.substr(0, equals), {}};
    const char* at = text.data() + equals + 1;
    const char* const end = text.data() + text.size();
    for (;; ++at) {
        std::int64_t size = 0;
        const auto [stop, error] = std::from_chars(at, end, size);
        if (error != std::errc() || size < 0 || size > kMostSize || *at == '-') throw refuse();
        request.sizes.push_back(size);
        at = stop;
        if (at == end) break;
        if (*at != 'x' || request.sizes.size() == kMaxRank) throw refuse();
    }
    return request;
}

Shape ShapeBinding::declared(const ::onnx::TensorShapeProto& shape) const {
    Shape dims;
    for (const auto& dim : shape.dim()) {
        if (dim.has_dim_value() && dim.dim_value() >= 0) {  // some exporters write -1 for what they do not know
            dims.push_back(known(dim.dim_value()));
            continue;
        }
        const auto bound = symbols.find(dim.dim_param());
        const std::string& name = dim.dim_param();
        dims.push_back(bound != symbols.end() ? known(bound->second)
                                              : Dim{std::nullopt, name.substr(name.rfind('~') + 1, kLongestName)});
    }
    return dims;
}

ShapeBinding bind_shapes(const ::onnx::GraphProto& graph, const std::vector<ShapeRequest>& requests) {
    const Inputs inputs = inputs_of(graph);
    ShapeBinding binding;
    for (const ShapeRequest& request : requests) {
        const auto place = inputs.find(request.name);
        if (place != inputs.end())
            bind_input(binding, request, place->second);
        else if (request.sizes.size() == 1 && has_symbol(inputs, request.name))
            bind(binding, request.name, request.sizes.front());
        else
            throw LayerError("--shape", fmt::format("for \"{}\"", request.name), names_of(inputs));
    }
    return binding;
}

}  // namespace convt_jit::onnx_import
