#include "onnx/uses.h"

namespace convt_jit::onnx_import {

Uses::Uses(const ::onnx::GraphProto& graph) {
    for (const auto& node : graph.node()) {
        for (const auto& input : node.input()) nodes_[input].push_back(&node);
        add_inner(node);
    }
    for (const auto& output : graph.output()) elsewhere_.insert(output.name());
}

// Messages are nested no deeper than protobuf reads them.
void Uses::add_inner(const ::onnx::NodeProto& node) {
    const auto add = [this](const ::onnx::GraphProto& graph) {
        for (const auto& inner : graph.node()) {
            for (const auto& input : inner.input()) elsewhere_.insert(input);
            add_inner(inner);
        }
        for (const auto& output : graph.output()) elsewhere_.insert(output.name());
    };
    for (const auto& attribute : node.attribute()) {
        if (attribute.has_g()) add(attribute.g());
        for (const auto& graph : attribute.graphs()) add(graph);
    }
}

std::vector<const ::onnx::NodeProto*> Uses::of(std::string_view value) const {
    const auto place = nodes_.find(value);
    if (value.empty() || place == nodes_.end() || elsewhere_.count(value) != 0) return {};
    return place->second;
}

const ::onnx::NodeProto* Uses::only(std::string_view value) const {
    const auto nodes = of(value);
    return nodes.size() == 1 ? nodes.front() : nullptr;
}

}  // namespace convt_jit::onnx_import
