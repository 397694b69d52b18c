// Imported: what the importer makes of a model that a test wrote.
#pragma once

#include "convt_jit/error.h"
#include "onnx/import.h"
#include "onnx_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace convt_jit::onnx_import {

using namespace convt_jit::test;

inline Imported import_of(const ModelProto& model, const ImportOptions& options = {}) {
    return import_layers(model, "m.onnx", options, nullptr);
}

// The layer's string, "" where there is none; a failure is told.
inline std::string layer_text(const ModelProto& model, const ImportOptions& options = {}) {
    const Imported imported = import_of(model, options);
    if (imported.layers.size() != 1) return std::to_string(imported.layers.size()) + " layers";
    const ImportedLayer& layer = imported.layers[0];
    return layer.failure.empty() ? to_string(layer.named.layer) : "failed: " + layer.failure;
}

inline std::string error_of(const ModelProto& model, const ImportOptions& options = {}) {
    try {
        (void)import_of(model, options);
    } catch (const LayerError& error) {
        return error.what();
    }
    return "no error";
}

inline NodeProto& node_named(ModelProto& model, const std::string& name) {
    for (auto& node : *model.mutable_graph()->mutable_node())
        if (node.name() == name) return node;
    throw std::runtime_error("no node " + name);
}

}  // namespace convt_jit::onnx_import
