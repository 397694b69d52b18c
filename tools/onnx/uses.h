// Uses: who reads the values of a graph.
#pragma once

#include "onnx.pb.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace convt_jit::onnx_import {

class Uses {
public:
    explicit Uses(const ::onnx::GraphProto& graph);

    // The nodes of this graph that read it, each as often as it does; none where something else reads it, too: a graph
    // within a node, or whoever runs the model.
    [[nodiscard]] std::vector<const ::onnx::NodeProto*> of(std::string_view value) const;
    // The one that reads it; nullptr: none, or more.
    [[nodiscard]] const ::onnx::NodeProto* only(std::string_view value) const;

private:
    void add_inner(const ::onnx::NodeProto& node);

    std::unordered_map<std::string_view, std::vector<const ::onnx::NodeProto*>> nodes_;
    std::unordered_set<std::string_view> elsewhere_;
};

}  // namespace convt_jit::onnx_import
