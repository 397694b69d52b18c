// ModelChoice: the ONNX model that the user named, whose ConvTranspose nodes are layers.
#pragma once

#include "convt_jit/convt_jit.h"
#include "onnx/import.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string>
#include <vector>

namespace convt_jit::tools {

// --onnx MODEL, --shape NAME=SIZES and --fuse.
struct ModelChoice {
    std::string file;
    onnx_import::ImportOptions options;

    void add_to(CLI::App& command);
    // nullptr: none was named. Throws LayerError, also for a model without such nodes.
    [[nodiscard]] std::shared_ptr<const onnx_import::Model> open() const;
};

// What there is to say of a node beside its layer, in one line; may be empty.
[[nodiscard]] std::string details(const onnx_import::ImportedLayer& layer);
[[nodiscard]] nlohmann::json node_json(const onnx_import::ImportedLayer& layer);

// Puts the model's numbers in the place of random ones. Says what stays random; empty: nothing does.
[[nodiscard]] std::string take_weights(HostTensors& tensors, const onnx_import::Model& model,
                                       const onnx_import::ImportedLayer& layer);

}  // namespace convt_jit::tools
