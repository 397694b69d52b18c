// Inference: what is known of every value of a model, found in one pass along its graphs.
#pragma once

#include "onnx.pb.h"
#include "onnx/fact.h"
#include "onnx/node.h"
#include "onnx/shape_binding.h"
#include "onnx/tensor.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace convt_jit::onnx_import {

struct InferredGraph {
    const ::onnx::GraphProto* graph = nullptr;
    const InferredGraph* outer = nullptr;  // whose values this one sees, too
    std::string path;                      // "", or such as "if1/then_branch/"
    std::unordered_map<std::string_view, Fact> facts;
    std::vector<std::unique_ptr<InferredGraph>> inner;

    // Also of an outer graph; nullptr: nothing makes it.
    [[nodiscard]] const Fact* find(std::string_view name) const;
};

struct InferredModel {
    std::int64_t opset = 1;  // of ONNX's own operators
    std::unique_ptr<InferredGraph> graph;
};

// The newest that these rules were written by.
inline constexpr std::int64_t kNewestOpset = 28;
[[nodiscard]] std::int64_t opset_of(const ::onnx::ModelProto& model);
[[nodiscard]] bool is_onnx_domain(std::string_view domain);

// Throws LayerError for graphs that are none: a value that is made twice, more than a million of them. What cannot be
// inferred is no error; its fact says why.
[[nodiscard]] InferredModel infer(const ::onnx::ModelProto& model, const ShapeBinding& binding,
                                  const ReadExternal& read);

// A node with what is known of its inputs.
[[nodiscard]] Node node_of(const ::onnx::NodeProto& node, const InferredGraph& graph, std::int64_t opset);

}  // namespace convt_jit::onnx_import
