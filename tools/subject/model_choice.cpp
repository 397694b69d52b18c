#include "subject/model_choice.h"

#include "onnx/conv_transpose.h"
#include "subject/argument.h"
#include "subject/message.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace convt_jit::tools {

using onnx_import::ImportedLayer;
using onnx_import::Model;

void ModelChoice::add_to(CLI::App& command) {
    CLI::Option* const onnx =
        command.add_option("--onnx", file, "take the ConvTranspose nodes of this ONNX model (docs/onnx.md)")
            ->type_name("MODEL")
            ->check(not_empty());
    command.add_option("--shape", options.shapes, "sizes of an input or a symbol of that model: x=1x3x224x224, N=1")
        ->type_name("NAME=SIZES")
        ->allow_extra_args(false)  // what follows the one value may be a layer
        ->check(not_empty())
        ->needs(onnx);
    command
        .add_flag("--fuse", options.fuse,
                  "with what follows a node (batch normalisation, addition, activation) as its epilogue")
        ->needs(onnx);
}

std::shared_ptr<const Model> ModelChoice::open() const {
    if (file.empty()) return nullptr;
    auto model = std::make_shared<const Model>(file, options);
    if (model->imported().layers.empty())
        throw LayerError(file, "a model without a ConvTranspose node", "a model that has one");
    for (const std::string& note : model->imported().notes) complain(shown_in_line(note));
    return model;
}

std::string details(const ImportedLayer& layer) {
    std::vector<std::string> parts;
    if (layer.by_rule) parts.push_back(fmt::format("padding by the text of {}", onnx_import::kAppliedVersion));
    if (!layer.fused.empty()) parts.push_back(fmt::format("with {}", fmt::join(layer.fused, ", ")));
    if (!layer.unknown_sizes.empty()) parts.push_back(fmt::format("sizes not known: {}", layer.unknown_sizes));
    return fmt::format("{}", fmt::join(parts, "; "));
}

nlohmann::json node_json(const ImportedLayer& layer) {
    nlohmann::json json = {{"node", layer.named.name}};
    if (!layer.failure.empty()) {
        json["error"] = layer.failure;
        return json;
    }
    json["layer"] = to_string(layer.named.layer);
    json["fused"] = layer.fused;
    if (layer.by_rule) json["padding_by"] = onnx_import::kAppliedVersion;
    if (!layer.unknown_sizes.empty()) json["unknown_sizes"] = layer.unknown_sizes;
    return json;
}

std::string take_weights(HostTensors& tensors, const Model& model, const ImportedLayer& layer) {
    onnx_import::Weights weights = model.weights(layer);
    std::vector<std::string> random;
    if (weights.w)
        tensors.w = std::move(*weights.w);
    else
        random.emplace_back("weights");
    if (weights.bias)
        tensors.bias = std::move(*weights.bias);
    else if (layer.named.layer.bias)
        random.emplace_back("bias");
    if (!weights.scale.empty()) {
        tensors.scale = std::move(weights.scale);
        tensors.shift = std::move(weights.shift);
    }
    return random.empty() ? "" : fmt::format("random {}, which the model does not hold", fmt::join(random, " and "));
}

}  // namespace convt_jit::tools
