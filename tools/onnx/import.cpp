#include "onnx/import.h"

#include "convt_jit/error.h"
#include "onnx/conv_transpose.h"
#include "onnx/epilogue.h"
#include "onnx/inference.h"
#include "onnx/shape_binding.h"
#include "onnx/uses.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace convt_jit::onnx_import {
namespace {

constexpr std::size_t kLongestName = 200;

bool is_conv_transpose(const ::onnx::NodeProto& node) {
    return node.op_type() == "ConvTranspose" && is_onnx_domain(node.domain());
}

class Importer {
public:
    Importer(const std::string& name, const ImportOptions& options, const InferredModel& model)
        : name_(name), fuse_(options.fuse), model_(model) {}

    void add_graph(const InferredGraph& graph) {
        std::optional<Uses> uses;
        for (const auto& node : graph.graph->node()) {
            if (!is_conv_transpose(node)) continue;
            if (fuse_ && !uses) uses.emplace(*graph.graph);
            layers_.push_back(read(node, graph, uses ? &*uses : nullptr));
        }
        for (const auto& inner : graph.inner) add_graph(*inner);
    }

    // What a model's own functions do is not looked into.
    void add_function(const ::onnx::FunctionProto& function) {
        for (const auto& node : function.node()) {
            if (!is_conv_transpose(node)) continue;
            ImportedLayer layer = named(node, "");
            layer.failure = fmt::format(
                "lies in the model's function \"{}\", which is not looked into; allowed: a model whose functions were "
                "inlined (onnx.inliner)",
                function.name().substr(0, kLongestName));
            layers_.push_back(std::move(layer));
        }
    }

    [[nodiscard]] std::vector<ImportedLayer> take() { return std::move(layers_); }

private:
    [[nodiscard]] ImportedLayer named(const ::onnx::NodeProto& node, const std::string& path) const {
        ImportedLayer layer;
        const std::string& own = !node.name().empty() || node.output_size() == 0 ? node.name() : node.output(0);
        layer.named.name = path + own.substr(0, kLongestName);
        layer.named.where = fmt::format("{}: node \"{}\" (ConvTranspose)", name_, layer.named.name);
        return layer;
    }

    [[nodiscard]] ImportedLayer read(const ::onnx::NodeProto& proto, const InferredGraph& graph,
                                     const Uses* uses) const {
        ImportedLayer layer = named(proto, graph.path);
        const Node node = node_of(proto, graph, model_.opset);
        try {
            const ConvTranspose read = read_conv_transpose(node);
            layer.named.layer = read.layer;
            layer.by_rule = read.by_rule;
            layer.unknown_sizes = read.unknown_sizes;
            const Fact* const x = node.input(0);
            if (!layer.unknown_sizes.empty() && x != nullptr && x->why) layer.unknown_sizes += "; " + *x->why;
            if (node.input(1) != nullptr) layer.sources.w = *node.input(1);
            if (read.layer.bias && node.input(2) != nullptr) layer.sources.bias = *node.input(2);
            if (uses != nullptr) fuse(layer, proto, read.output, graph, *uses);
        } catch (const UnknownShape& unknown) {
            layer.failure = unknown.why;
        } catch (const LayerError& error) {
            layer.failure = error.what();
        }
        return layer;
    }

    void fuse(ImportedLayer& layer, const ::onnx::NodeProto& node, const Shape& output, const InferredGraph& graph,
              const Uses& uses) const {
        EpilogueMatch match = match_epilogue(node, output, layer.named.layer, graph, uses, model_.opset);
        layer.named.layer.epilogue = match.epilogue;
        layer.sources.affine = std::move(match.affine);
        for (const auto* const taken : match.nodes) layer.fused.push_back(title(*taken));
        validate(layer.named.layer);
    }

    const std::string& name_;
    bool fuse_;
    const InferredModel& model_;
    std::vector<ImportedLayer> layers_;
};

}  // namespace

Imported import_layers(const ::onnx::ModelProto& model, const std::string& name, const ImportOptions& options,
                       const ReadExternal& read) {
    std::vector<ShapeRequest> requests;
    for (const std::string& text : options.shapes) requests.push_back(parse_shape(text));
    const ShapeBinding binding = bind_shapes(model.graph(), requests);
    try {
        const InferredModel inferred = infer(model, binding, read);
        Importer importer(name, options, inferred);
        importer.add_graph(*inferred.graph);
        for (const auto& function : model.functions()) importer.add_function(function);
        Imported imported{inferred.opset, importer.take(), {}};
        if (inferred.opset > kNewestOpset)
            imported.notes.push_back(
                fmt::format("{} is of opset {}; {} is the newest that is known here, and the model is read by that",
                            name, inferred.opset, kNewestOpset));
        return imported;
    } catch (const LayerError& error) {
        throw LayerError(name, error);
    }
}

ReadExternal Model::reader() const {
    return [this](const std::string& location, std::uint64_t offset, std::uint64_t bytes) {
        return data_.read(location, offset, bytes);
    };
}

Model::Model(const std::string& path, const ImportOptions& options)
    : file_(ModelFile::read(path)), data_(file_.folder()) {
    imported_ = import_layers(file_.model(), path, options, reader());
}

Weights Model::weights(const ImportedLayer& layer) const {
    try {
        return read_weights(layer.sources, layer.named.layer, reader());
    } catch (const LayerError& error) {
        throw LayerError(layer.named.where, error);
    }
}

std::string Model::external_trouble(const ImportedLayer& layer) const {
    for (const auto* const tensor : external_of(layer.sources)) {
        try {
            const ExternalPlace place = place_of(*tensor);
            if (std::string trouble = data_.trouble(place.location, place.offset, place.length.value_or(0));
                !trouble.empty())
                return trouble;
        } catch (const LayerError& error) {
            return error.what();
        }
    }
    return {};
}

}  // namespace convt_jit::onnx_import
