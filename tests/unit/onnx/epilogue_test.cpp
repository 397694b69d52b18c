#include "onnx/epilogue.h"

#include "imported.h"

#include <cmath>
#include <limits>

namespace convt_jit::onnx_import {
namespace {

using ::testing::ElementsAre;

// x -> ConvTranspose "up" -> v, 2x3x5x5 to 2x4x6x6, with constants at hand.
class Chain {
public:
    explicit Chain(std::int64_t opset = 20) : model_(one_node({2, 3, 5, 5}, {3, 4, 2, 2}, opset)) {
        graph().clear_output();
        *node_named(model_, "up").mutable_output(0) = "v";
        for (const char* name : {"scale", "shift", "mean", "var"}) add_weights(graph(), name, {4}, 2);
        add_weights(graph(), "per_channel", {4, 1, 1}, 3);
        add_weights(graph(), "row", {4}, 3);
        *graph().add_initializer() = tensor_of("half", {}, {0.5F});
        *graph().add_initializer() = tensor_of("six", {}, {6});
        *graph().add_initializer() = tensor_of("zero", {}, {0});
        add_input(graph(), "skip", {2, 4, 6, 6});
        add_input(graph(), "wide", {2, 4, 6, 1});
    }
    GraphProto& graph() { return *model_.mutable_graph(); }
    ModelProto& model() { return model_; }
    NodeProto& node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
        return add_node(graph(), op, inputs, {output}, op);
    }
    NodeProto& normalise(const std::string& from, const std::string& to) {
        return node("BatchNormalization", {from, "scale", "shift", "mean", "var"}, to);
    }
    ImportedLayer layer() {
        ModelProto model = model_;
        return import_of(model, {{}, true}).layers.at(0);
    }
    // The words behind the dtype: "affine relu".
    std::string words() {
        const ImportedLayer read = layer();
        if (!read.failure.empty()) return "failed: " + read.failure;
        const std::string text = to_string(read.named.layer);
        const std::size_t at = text.find("f32");
        return text.size() > at + 4 ? text.substr(at + 4) : "";
    }

private:
    ModelProto model_;
};

TEST(EpilogueMatch, IsOnlyMadeWhereAskedFor) {
    Chain chain;
    chain.node("Relu", {"v"}, "y");
    EXPECT_EQ(chain.words(), "relu");
    EXPECT_THAT(chain.layer().fused, ElementsAre("node \"Relu\" (Relu)"));
    EXPECT_EQ(import_of(chain.model()).layers[0].named.layer.epilogue, Epilogue{});
}

TEST(EpilogueMatch, AllSteps) {
    Chain chain;
    chain.node("Mul", {"half", "v"}, "a");
    chain.normalise("a", "b");
    chain.node("Add", {"skip", "b"}, "c");
    chain.node("Relu", {"c"}, "d");
    chain.node("Clip", {"d", "zero", "six"}, "y");
    EXPECT_EQ(chain.words(), "scale0.5 affine residual relu clamp0:6");
    EXPECT_EQ(chain.layer().fused.size(), 5U);
}

TEST(EpilogueMatch, Activations) {
    const auto word = [](const char* op, std::int64_t opset = 20) {
        Chain chain(opset);
        chain.node(op, {"v"}, "y");
        return chain.words();
    };
    EXPECT_EQ(word("LeakyRelu"), "leaky0.01");
    EXPECT_EQ(word("Gelu"), "gelu");
    EXPECT_EQ(word("Tanh"), "tanh");
    EXPECT_EQ(word("Sigmoid"), "sigmoid");
    EXPECT_EQ(word("HardSwish"), "hardswish");
    EXPECT_EQ(word("Swish"), "silu");
    for (const char* other : {"Elu", "Softplus", "Neg", "Softmax"}) EXPECT_EQ(word(other), "") << other;
    Chain leaky;
    set(leaky.node("LeakyRelu", {"v"}, "y"), "alpha", 0.2F);
    EXPECT_EQ(leaky.words(), "leaky0.2");
    Chain tanh_gelu;
    set(tanh_gelu.node("Gelu", {"v"}, "y"), "approximate", std::string("tanh"));
    EXPECT_EQ(tanh_gelu.words(), "");
    Chain wrong;
    set(wrong.node("LeakyRelu", {"v"}, "y"), "alpha", std::string("0.2"));
    EXPECT_EQ(wrong.words(), "");
    Chain foreign;
    foreign.node("Relu", {"v"}, "y").set_domain("com.example");
    EXPECT_EQ(foreign.words(), "");
}

TEST(EpilogueMatch, ProductsWithAGate) {
    Chain silu;
    silu.node("Sigmoid", {"v"}, "s");
    silu.node("Mul", {"v", "s"}, "m");
    silu.node("Relu", {"m"}, "y");
    EXPECT_EQ(silu.words(), "silu");
    Chain hardswish;
    set(hardswish.node("HardSigmoid", {"v"}, "s"), "alpha", 1.0F / 6);
    hardswish.node("Mul", {"s", "v"}, "y");
    EXPECT_EQ(hardswish.words(), "hardswish");
    Chain other_slope;
    other_slope.node("HardSigmoid", {"v"}, "s");
    other_slope.node("Mul", {"s", "v"}, "y");
    EXPECT_EQ(other_slope.words(), "");
    Chain used_twice;
    used_twice.node("Sigmoid", {"v"}, "s");
    used_twice.node("Mul", {"v", "s"}, "y");
    used_twice.node("Relu", {"s"}, "z");
    EXPECT_EQ(used_twice.words(), "");
}

// A value that anything else reads must be made as it is.
TEST(EpilogueMatch, ValuesThatAreReadElsewhereStay) {
    Chain twice;
    twice.node("Relu", {"v"}, "y");
    twice.node("Tanh", {"v"}, "z");
    EXPECT_EQ(twice.words(), "");
    Chain output;
    output.node("Relu", {"v"}, "y");
    add_output(output.graph(), "v");
    EXPECT_EQ(output.words(), "");
    Chain doubled;
    doubled.node("Add", {"v", "v"}, "y");
    EXPECT_EQ(doubled.words(), "");
    Chain captured;
    captured.node("Relu", {"v"}, "y");
    NodeProto& choice = captured.node("If", {"zero"}, "z");
    GraphProto& inner = *add_attribute(choice, "then_branch", AttributeProto::GRAPH).mutable_g();
    add_node(inner, "Tanh", {"v"}, {"t"});
    EXPECT_EQ(captured.words(), "");
    Chain later;  // the first step may be taken, the second not
    later.node("Relu", {"v"}, "r");
    later.node("Clip", {"r", "zero", "six"}, "y");
    add_output(later.graph(), "r");
    EXPECT_EQ(later.words(), "relu");
}

TEST(EpilogueMatch, OrderCounts) {
    Chain chain;
    chain.node("Relu", {"v"}, "a");
    chain.normalise("a", "y");
    EXPECT_EQ(chain.words(), "relu");
    Chain clamped;
    clamped.node("Clip", {"v", "zero", "six"}, "a");
    clamped.node("Relu", {"a"}, "y");
    EXPECT_EQ(clamped.words(), "clamp0:6");
    Chain added;
    added.node("Add", {"v", "skip"}, "a");
    added.normalise("a", "y");
    EXPECT_EQ(added.words(), "residual");
}

TEST(EpilogueMatch, Normalisation) {
    const auto words = [](std::int64_t opset, const auto& edit) {
        Chain chain(opset);
        edit(chain.normalise("v", "y"));
        return chain.words();
    };
    EXPECT_EQ(words(20, [](NodeProto&) {}), "affine");
    EXPECT_EQ(words(7, [](NodeProto&) {}), "affine");
    EXPECT_EQ(words(6, [](NodeProto&) {}), "") << "in training it computes its own mean";
    EXPECT_EQ(words(6, [](NodeProto& node) { set(node, "is_test", std::int64_t{1}); }), "affine");
    EXPECT_EQ(words(20, [](NodeProto& node) { set(node, "training_mode", std::int64_t{1}); }), "");
    EXPECT_EQ(words(7, [](NodeProto& node) { set(node, "spatial", std::int64_t{0}); }), "");
    EXPECT_EQ(words(7, [](NodeProto& node) { node.add_output("mean_out"); }), "");
    EXPECT_EQ(words(20, [](NodeProto& node) { *node.mutable_input(3) = "wide"; }), "") << "no constant";
    EXPECT_EQ(words(20, [](NodeProto& node) { *node.mutable_input(3) = "half"; }), "") << "not one per channel";
}

TEST(EpilogueMatch, ConstantsPerChannel) {
    const auto words = [](const char* op, const char* operand, std::int64_t opset = 20) {
        Chain chain(opset);
        chain.node(op, {"v", operand}, "y");
        return chain.words();
    };
    EXPECT_EQ(words("Mul", "per_channel"), "affine");
    EXPECT_EQ(words("Add", "per_channel"), "affine");
    EXPECT_EQ(words("Mul", "half"), "scale0.5");
    EXPECT_EQ(words("Add", "half"), "affine");
    EXPECT_EQ(words("Mul", "row"), "") << "that is along the last axis";
    EXPECT_EQ(words("Add", "skip"), "residual");
    EXPECT_EQ(words("Add", "wide"), "") << "that is broadcast";
    EXPECT_EQ(words("Mul", "skip"), "");
    EXPECT_EQ(words("Sub", "per_channel"), "");
    Chain old(6);
    NodeProto& add = old.node("Add", {"v", "row"}, "y");
    set(add, "broadcast", std::int64_t{1});
    set(add, "axis", std::int64_t{1});
    EXPECT_EQ(old.words(), "affine");
}

// Steps of one kind are composed, in their order.
TEST(EpilogueMatch, ScaleAndShift) {
    Chain chain;
    set(chain.normalise("v", "a"), "epsilon", 0.25F);
    chain.node("Mul", {"a", "per_channel"}, "b");
    chain.node("Add", {"b", "half"}, "y");
    ModelProto& model = chain.model();
    const Imported imported = import_of(model, {{}, true});
    const ImportedLayer& layer = imported.layers[0];
    EXPECT_EQ(layer.fused.size(), 3U);
    const Weights weights = read_weights(layer.sources, layer.named.layer, nullptr);
    const double by = 2 / std::sqrt(2.25);
    ASSERT_EQ(weights.scale.size(), 4U);
    for (std::size_t c = 0; c < 4; ++c) {
        EXPECT_NEAR(weights.scale[c], by * 3, 1e-6);
        EXPECT_NEAR(weights.shift[c], (2 - 2 * by) * 3 + 0.5, 1e-6);
    }
    EXPECT_EQ(weights.w->size(), 48U);
}

TEST(EpilogueMatch, Bounds) {
    const auto clipped = [](std::int64_t opset, const std::vector<std::string>& inputs, const auto& edit) {
        Chain chain(opset);
        edit(chain.node("Clip", inputs, "y"));
        return chain.words();
    };
    const auto plain = [](NodeProto&) {};
    EXPECT_EQ(clipped(13, {"v", "zero", "six"}, plain), "clamp0:6");
    EXPECT_EQ(clipped(13, {"v", "", "six"}, plain), "clamp-inf:6");
    EXPECT_EQ(clipped(13, {"v", "zero"}, plain), "clamp0:inf");
    EXPECT_EQ(clipped(13, {"v", "six", "zero"}, plain), "") << "bounds the wrong way round";
    EXPECT_EQ(clipped(13, {"v", "wide"}, plain), "") << "no constant";
    EXPECT_EQ(clipped(6, {"v"}, [](NodeProto& node) { set(node, "max", 6.F); }), "clamp-inf:6");
    EXPECT_EQ(clipped(6, {"v"},
                      [](NodeProto& node) {
                          set(node, "min", 0.F);
                          set(node, "max", std::numeric_limits<float>::max());
                      }),
              "clamp0:inf");
}

// A sum is only an epilogue's where both are certainly of one shape.
TEST(EpilogueMatch, ResidualsOfUnknownSizes) {
    const auto model = [](const char* declared) {
        ModelProto made = one_node({-1, 3, 5, 5}, {3, 4, 2, 2});
        GraphProto& graph = *made.mutable_graph();
        graph.clear_output();
        add_input(graph, "skip",
                  declared == std::string("N") ? std::vector<std::int64_t>{-1, 4, 6, 6}
                                               : std::vector<std::int64_t>{-2, 4, 6, 6});
        add_node(graph, "Add", {"y", "skip"}, {"z"});
        return made;
    };
    EXPECT_TRUE(import_of(model("N"), {{}, true}).layers[0].named.layer.epilogue.residual);
    EXPECT_FALSE(import_of(model("H"), {{}, true}).layers[0].named.layer.epilogue.residual);
    EXPECT_TRUE(import_of(model("H"), {{"N=2", "H=2"}, true}).layers[0].named.layer.epilogue.residual);
}

}  // namespace
}  // namespace convt_jit::onnx_import
