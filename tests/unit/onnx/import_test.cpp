#include "onnx/import.h"

#include "imported.h"

namespace convt_jit::onnx_import {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

const std::vector<double>& weights_of(const Weights& weights) { return weights.w.value(); }

// The weights of the one layer of a model.
Weights read(const ModelProto& model) {
    const Imported imported = import_of(model);
    const ImportedLayer& layer = imported.layers.at(0);
    EXPECT_EQ(layer.failure, "");
    return read_weights(layer.sources, layer.named.layer, nullptr);
}

TEST(Import, WeightsThatAreInputsToo) {
    ModelProto model = one_node({1, 3, 5}, {3, 4, 2}, 6);
    add_input(*model.mutable_graph(), "w", {3, 4, 2});
    EXPECT_EQ(layer_text(model), "n1 c3 o4 in5 k2 f32");
    EXPECT_THAT(weights_of(read(model)), Each(1));
}

TEST(Import, WeightsOfConstantNodes) {
    ModelProto model = make_model();
    GraphProto& graph = *model.mutable_graph();
    add_input(graph, "x", {1, 1, 5});
    *add_attribute(add_node(graph, "Constant", {}, {"c"}), "value", AttributeProto::TENSOR).mutable_t() =
        tensor_of("", {1, 2, 2}, {1, 2, 3, 4});
    add_node(graph, "Identity", {"c"}, {"w"});
    AttributeProto& bias =
        add_attribute(add_node(graph, "Constant", {}, {"b"}), "value_floats", AttributeProto::FLOATS);
    bias.add_floats(5);
    bias.add_floats(6);
    add_node(graph, "ConvTranspose", {"x", "w", "b"}, {"y"});
    EXPECT_EQ(layer_text(model), "n1 c1 o2 in5 k2 bias f32");
    const Weights weights = read(model);
    EXPECT_EQ(weights_of(weights), (std::vector<double>{1, 2, 3, 4}));
    EXPECT_EQ(weights.bias.value(), (std::vector<double>{5, 6}));
    EXPECT_EQ(import_of(model).layers[0].named.name, "y") << "without a name it is called by its output";
}

TEST(Import, WeightsThatTheModelComputes) {
    ModelProto model = make_model();
    GraphProto& graph = *model.mutable_graph();
    add_input(graph, "x", {1, 3, 5});
    add_input(graph, "w", {3, 4, 2});
    add_node(graph, "Tanh", {"w"}, {"t"});
    add_node(graph, "ConvTranspose", {"x", "t"}, {"y"});
    EXPECT_EQ(layer_text(model), "n1 c3 o4 in5 k2 f32");
    EXPECT_FALSE(read(model).w.has_value());
}

TEST(Import, OneWrongNodeDoesNotStopTheOthers) {
    ModelProto model = one_node({1, 3, 5, 5}, {3, 4, 2, 2});
    GraphProto& graph = *model.mutable_graph();
    set(add_node(graph, "ConvTranspose", {"x", "w"}, {"z"}, "bad"), "group", std::int64_t{2});
    set(add_node(graph, "ConvTranspose", {"x", "w"}, {"u"}, "good"), "strides", std::vector<std::int64_t>{2, 2});
    const Imported imported = import_of(model);
    ASSERT_EQ(imported.layers.size(), 3U);
    EXPECT_EQ(imported.layers[0].failure, "");
    EXPECT_EQ(imported.layers[1].named.where, "m.onnx: node \"bad\" (ConvTranspose)");
    EXPECT_EQ(imported.layers[1].failure, "group is 2; allowed: a divisor of the 3 channels of X");
    EXPECT_EQ(to_string(imported.layers[2].named.layer), "n1 c3 o4 in5x5 k2x2 s2 f32");
}

TEST(Import, FunctionsAreReported) {
    ModelProto model = one_node({1, 3, 5, 5}, {3, 4, 2, 2});
    auto& function = *model.add_functions();
    function.set_name("upsample");
    NodeProto& node = *function.add_node();
    node.set_op_type("ConvTranspose");
    node.set_name("inner");
    const Imported imported = import_of(model);
    ASSERT_EQ(imported.layers.size(), 2U);
    EXPECT_THAT(imported.layers[1].failure, HasSubstr("lies in the model's function \"upsample\""));
}

TEST(Import, OtherDomainsAreOtherOperators) {
    ModelProto model = one_node({1, 3, 5, 5}, {3, 4, 2, 2});
    node_named(model, "up").set_domain("com.example");
    EXPECT_TRUE(import_of(model).layers.empty());
    node_named(model, "up").set_domain("ai.onnx");
    EXPECT_EQ(layer_text(model), "n1 c3 o4 in5x5 k2x2 f32");
}

TEST(Import, NodesThatLackWhatTheyNeed) {
    ModelProto model = make_model();
    add_node(*model.mutable_graph(), "ConvTranspose", {}, {});
    EXPECT_THAT(layer_text(model), HasSubstr("failed: node \"\" (ConvTranspose) has no input 1"));
    ModelProto nameless = one_node({1, 3, 5, 5}, {3, 4, 2, 2});
    node_named(nameless, "up").mutable_input(0)->clear();
    EXPECT_EQ(layer_text(nameless), "c3 o4 k2x2 f32");
}

TEST(Import, SparseWeightsAreNoConstants) {
    ModelProto model = one_node({1, 3, 5}, {3, 4, 2});
    GraphProto& graph = *model.mutable_graph();
    graph.clear_initializer();
    auto& sparse = *graph.add_sparse_initializer();
    *sparse.mutable_values() = tensor_of("w", {1}, {1});
    for (const std::int64_t dim : {3, 4, 2}) sparse.add_dims(dim);
    EXPECT_EQ(layer_text(model), "n1 c3 o4 in5 k2 f32");
    EXPECT_FALSE(read(model).w.has_value());
}

TEST(Import, DataThatDoesNotFitIsToldWithItsTensor) {
    ModelProto model = one_node({1, 3, 5}, {3, 4, 2});
    model.mutable_graph()->mutable_initializer(0)->set_raw_data("xy");
    const Imported imported = import_of(model);
    EXPECT_EQ(imported.layers.at(0).failure, "") << "shapes are enough for a layer";
    try {
        (void)read_weights(imported.layers[0].sources, imported.layers[0].named.layer, nullptr);
        ADD_FAILURE() << "it was read";
    } catch (const LayerError& error) {
        EXPECT_STREQ(error.what(), "tensor \"w\": raw_data is 2 long; allowed: 96, as its dims and data_type say");
    }
}

}  // namespace
}  // namespace convt_jit::onnx_import
