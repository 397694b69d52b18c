// Import: the ConvTranspose nodes of a model as layers.
#pragma once

#include "convt_jit/layer.h"
#include "onnx/external_data.h"
#include "onnx/model_file.h"
#include "onnx/tensor.h"
#include "onnx/weights.h"

#include <string>
#include <vector>

namespace convt_jit::onnx_import {

struct ImportOptions {
    std::vector<std::string> shapes;  // as --shape has them
    bool fuse = false;                // what follows a node becomes its epilogue, where that is the same
};

struct ImportedLayer {
    NamedLayer named;  // `name`: the node's; `where`: file and node. The layer counts where nothing failed
    std::string failure;
    std::string unknown_sizes;  // "axis 0 (N), axis 2 (H)"; empty: the layer knows its batch and input
    bool by_rule = false;       // auto_pad or output_shape was applied, by the text of kAppliedVersion
    std::vector<std::string> fused;
    WeightSources sources;
};

struct Imported {
    std::int64_t opset = 1;
    std::vector<ImportedLayer> layers;  // in the order of the nodes, each graph before those within it
    std::vector<std::string> notes;     // what a user should know
};

// Pure, but for `read`. `name` stands for the model in errors. Throws LayerError for a model that is wrong as a whole;
// what is wrong with a node is its layer's failure. The model must outlive what is returned.
[[nodiscard]] Imported import_layers(const ::onnx::ModelProto& model, const std::string& name,
                                     const ImportOptions& options, const ReadExternal& read);

// A model and its layers.
class Model {
public:
    // Throws LayerError that names the file.
    Model(const std::string& path, const ImportOptions& options);

    [[nodiscard]] const Imported& imported() const { return imported_; }
    // Throws LayerError that names file, node and tensor.
    [[nodiscard]] Weights weights(const ImportedLayer& layer) const;
    // Why its weights could not be read from beside the model; empty: they could. Reads none.
    [[nodiscard]] std::string external_trouble(const ImportedLayer& layer) const;

private:
    [[nodiscard]] ReadExternal reader() const;

    ModelFile file_;
    ExternalData data_;
    Imported imported_;
};

}  // namespace convt_jit::onnx_import
