// Shapes that reach a ConvTranspose through other operators: each case is a few nodes between the input "x" and the
// value "v" that the ConvTranspose "up" reads; its layer's string tells the shape.

#include "onnx/inference.h"

#include "imported.h"

#include <fmt/format.h>

namespace convt_jit::onnx_import {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

// x of 1x8x12x10 in all of them, unless told.
class Way {
public:
    explicit Way(const Ints& x = {1, 8, 12, 10}, std::int64_t opset = 13) : model_(make_model(opset)) {
        add_input(graph(), "x", x);
    }
    GraphProto& graph() { return *model_.mutable_graph(); }
    NodeProto& node(const std::string& op, const std::vector<std::string>& inputs, const std::string& output) {
        return add_node(graph(), op, inputs, {output}, op);
    }
    void ints(const std::string& name, const Ints& values) { *graph().add_initializer() = ints_tensor(name, values); }
    void reals(const std::string& name, const std::vector<float>& values) {
        *graph().add_initializer() = tensor_of(name, {static_cast<std::int64_t>(values.size())}, values);
    }
    // What a layer of that many channels and spatial axes sees: "n1 c8 in12x10".
    std::string seen(std::int64_t channels, int rank = 2, const ImportOptions& options = {}) {
        ModelProto model = model_;
        Ints weights = {channels, 1};
        weights.resize(weights.size() + static_cast<std::size_t>(rank), 1);
        add_weights(*model.mutable_graph(), "up_w", weights);
        add_node(*model.mutable_graph(), "ConvTranspose", {"v", "up_w"}, {"y"}, "up");
        const ImportedLayer layer = import_of(model, options).layers.at(0);
        if (!layer.failure.empty()) return fmt::format("failed: {}", layer.failure);
        if (!layer.unknown_sizes.empty()) return fmt::format("unknown: {}", layer.unknown_sizes);
        const Layer& l = layer.named.layer;
        return fmt::format("n{} c{} in{}", *l.batch, l.in_channels, to_string(l.input));
    }

private:
    ModelProto model_;
};

TEST(Inference, Elementwise) {
    Way way;
    way.node("Relu", {"x"}, "a");
    add_weights(way.graph(), "bias", {8, 1, 1});
    way.node("Add", {"a", "bias"}, "b");
    way.node("Cast", {"b"}, "c");
    set(*way.graph().mutable_node(2), "to", std::int64_t{1});
    way.node("Identity", {"c"}, "v");
    EXPECT_EQ(way.seen(8), "n1 c8 in12x10");
    EXPECT_THAT(way.seen(9), HasSubstr("the channels of X is 8; allowed: 9"));
}

TEST(Inference, Broadcasting) {
    Way way({1, 8, 1, 10});
    add_weights(way.graph(), "other", {3, 1, 12, 1});
    way.node("Mul", {"other", "x"}, "v");
    EXPECT_EQ(way.seen(8), "n3 c8 in12x10");
    Way wrong;
    add_weights(wrong.graph(), "other", {9, 1, 1});
    wrong.node("Mul", {"other", "x"}, "v");
    EXPECT_THAT(wrong.seen(8), HasSubstr("node \"Mul\" (Mul) is given sizes"));
    // Before version 7 the second operand was fitted by attributes.
    Way old({1, 8, 12, 10}, 6);
    add_weights(old.graph(), "other", {8});
    NodeProto& add = old.node("Add", {"x", "other"}, "v");
    set(add, "broadcast", std::int64_t{1});
    set(add, "axis", std::int64_t{1});
    EXPECT_EQ(old.seen(8), "n1 c8 in12x10");
}

TEST(Inference, Convolutions) {
    const auto convolved = [](const char* op, const Ints& kernel, const auto& edit) {
        Way way;
        add_weights(way.graph(), "w", kernel);
        edit(way.node(op, {"x", "w"}, "v"));
        return way.seen(kernel[0]);
    };
    EXPECT_EQ(convolved("Conv", {6, 8, 3, 5}, [](NodeProto&) {}), "n1 c6 in10x6");
    EXPECT_EQ(convolved("Conv", {6, 8, 3, 5},
                        [](NodeProto& node) {
                            set(node, "strides", Ints{2, 3});
                            set(node, "pads", Ints{1, 2, 1, 2});
                            set(node, "dilations", Ints{2, 1});
                        }),
              "n1 c6 in5x4");
    for (const char* mode : {"SAME_UPPER", "SAME_LOWER"})
        EXPECT_EQ(convolved("Conv", {6, 8, 3, 5},
                            [&](NodeProto& node) {
                                set(node, "auto_pad", std::string(mode));
                                set(node, "strides", Ints{5, 1});
                            }),
                  "n1 c6 in3x10");
    EXPECT_EQ(convolved("Conv", {6, 8, 3, 5}, [](NodeProto& node) { set(node, "auto_pad", std::string("VALID")); }),
              "n1 c6 in10x6");

    EXPECT_THAT(convolved("Conv", {6, 8, 13, 1}, [](NodeProto&) {}), HasSubstr("a window of 13 does not fit into 12"));
}

TEST(Inference, Poolings) {
    const auto pooled = [](const char* op, const auto& edit) {
        Way way;
        edit(way.node(op, {"x"}, "v"));
        return way.seen(8);
    };
    const auto by_three = [](NodeProto& node) {
        set(node, "kernel_shape", Ints{3, 3});
        set(node, "strides", Ints{3, 3});
    };
    EXPECT_EQ(pooled("MaxPool", by_three), "n1 c8 in4x3");
    EXPECT_EQ(pooled("AveragePool", by_three), "n1 c8 in4x3");
    EXPECT_EQ(pooled("MaxPool",
                     [&](NodeProto& node) {
                         by_three(node);
                         set(node, "ceil_mode", std::int64_t{1});
                     }),
              "n1 c8 in4x4");
    EXPECT_EQ(pooled("GlobalAveragePool", [](NodeProto&) {}), "n1 c8 in1x1");
    EXPECT_THAT(pooled("MaxPool", [](NodeProto&) {}), HasSubstr("kernel_shape is missing"));
}

TEST(Inference, Reshapes) {
    const auto reshaped = [](const Ints& to, std::int64_t channels, int rank) {
        Way way;
        way.ints("to", to);
        way.node("Reshape", {"x", "to"}, "v");
        return way.seen(channels, rank);
    };
    EXPECT_EQ(reshaped({1, 4, 24, 10}, 4, 2), "n1 c4 in24x10");
    EXPECT_EQ(reshaped({0, -1, 12, 0}, 8, 2), "n1 c8 in12x10");
    EXPECT_EQ(reshaped({2, 4, -1}, 4, 1), "n2 c4 in120");
    EXPECT_THAT(reshaped({7, 8, -1}, 8, 1),
                HasSubstr("node \"Reshape\" (Reshape) makes 1x8x12x10 into 7x8 and one size more"));
    EXPECT_THAT(reshaped({-1, 8, -1}, 8, 1), HasSubstr("more than one -1"));
    EXPECT_THAT(reshaped({1, 8, -7}, 8, 1), HasSubstr("size -7"));
    Way first({1, 8, 12, 10}, 1);  // there, an attribute
    set(first.node("Reshape", {"x"}, "v"), "shape", Ints{1, 8, 120});
    EXPECT_EQ(first.seen(8, 1), "n1 c8 in120");
}

// What exporters write for x.view(x.size(0), -1, ...) and for an interpolation to twice the size.
TEST(Inference, ShapesThatAreComputed) {
    Way way({-1, 8, 12, 10});
    way.node("Shape", {"x"}, "shape");
    *way.graph().add_initializer() = ints_tensor("zero", {0}, true);
    way.node("Gather", {"shape", "zero"}, "n");
    way.ints("axes", {0});
    way.node("Unsqueeze", {"n", "axes"}, "n1");
    way.ints("rest", {8, 12, 10});
    way.node("Concat", {"n1", "rest"}, "to");
    set(*way.graph().mutable_node(way.graph().node_size() - 1), "axis", std::int64_t{0});
    way.node("Reshape", {"x", "to"}, "v");
    EXPECT_EQ(way.seen(8), "unknown: axis 0 (N)");
    EXPECT_EQ(way.seen(8, 2, {{"N=3"}}), "n3 c8 in12x10");

    Way twice;
    twice.node("Shape", {"x"}, "shape");
    twice.ints("two", {2});
    twice.ints("four", {4});
    twice.node("Slice", {"shape", "two", "four"}, "spatial");
    twice.node("Mul", {"spatial", "two"}, "larger");
    twice.ints("front", {1, 8});
    set(twice.node("Concat", {"front", "larger"}, "sizes"), "axis", std::int64_t{0});
    twice.node("Resize", {"x", "", "", "sizes"}, "v");
    EXPECT_EQ(twice.seen(8), "n1 c8 in24x20");
}

TEST(Inference, Resizes) {
    Way resize;
    resize.reals("scales", {1, 1, 2, 1.5});
    resize.node("Resize", {"x", "", "scales"}, "v");
    EXPECT_EQ(resize.seen(8), "n1 c8 in24x15");
    Way ten({1, 8, 12, 10}, 10);
    ten.reals("scales", {1, 1, 0.5, 1});
    ten.node("Resize", {"x", "scales"}, "v");
    EXPECT_EQ(ten.seen(8), "n1 c8 in6x10");
    Way upsample({1, 8, 12, 10}, 9);
    upsample.reals("scales", {1, 1, 2, 3});
    upsample.node("Upsample", {"x", "scales"}, "v");
    EXPECT_EQ(upsample.seen(8), "n1 c8 in24x30");
    Way seven({1, 8, 12, 10}, 7);
    AttributeProto& scales = add_attribute(seven.node("Upsample", {"x"}, "v"), "scales", AttributeProto::FLOATS);
    for (const float scale : {1.F, 1.F, 2.F, 2.F}) scales.add_floats(scale);
    EXPECT_EQ(seven.seen(8), "n1 c8 in24x20");
    Way first({1, 8, 12, 10}, 1);
    NodeProto& node = first.node("Upsample", {"x"}, "v");
    set(node, "height_scale", 2.F);
    set(node, "width_scale", 3.F);
    EXPECT_EQ(first.seen(8), "n1 c8 in24x30");
    Way wrong;
    wrong.reals("scales", {1, 1, -2, 1});
    wrong.node("Resize", {"x", "", "scales"}, "v");
    EXPECT_THAT(wrong.seen(8), HasSubstr("scales is -2"));
}

TEST(Inference, Arrangements) {
    const auto arranged = [](const char* op, std::int64_t channels, int rank, const auto& edit) {
        Way way;
        way.ints("axes", {2});
        edit(way, way.node(op, {"x"}, "v"));
        return way.seen(channels, rank);
    };
    EXPECT_EQ(arranged("Transpose", 12, 2,
                       [](Way&, NodeProto& node) {
                           set(node, "perm", Ints{0, 2, 1, 3});
                       }),
              "n1 c12 in8x10");
    EXPECT_EQ(arranged("Transpose", 12, 2, [](Way&, NodeProto&) {}), "n10 c12 in8x1");
    EXPECT_THAT(arranged("Transpose", 8, 2,
                         [](Way&, NodeProto& node) {
                             set(node, "perm", Ints{0, 2, 2, 3});
                         }),
                HasSubstr("perm is [0, 2, 2, 3]"));
    EXPECT_EQ(arranged("Unsqueeze", 8, 3, [](Way&, NodeProto& node) { node.add_input("axes"); }), "n1 c8 in1x12x10");
    EXPECT_EQ(arranged("DepthToSpace", 2, 2, [](Way&, NodeProto& node) { set(node, "blocksize", std::int64_t{2}); }),
              "n1 c2 in24x20");
    EXPECT_EQ(arranged("SpaceToDepth", 32, 2, [](Way&, NodeProto& node) { set(node, "blocksize", std::int64_t{2}); }),
              "n1 c32 in6x5");
    EXPECT_THAT(arranged("DepthToSpace", 2, 2, [](Way&, NodeProto&) {}), HasSubstr("blocksize is 0"));
    Way flat;
    flat.node("Flatten", {"x"}, "f");
    flat.ints("axes", {2});
    flat.node("Unsqueeze", {"f", "axes"}, "v");
    EXPECT_EQ(flat.seen(960, 1), "n1 c960 in1");
    Way squeezed({1, 8, 1, 10});
    set(squeezed.node("Squeeze", {"x"}, "v"), "axes", Ints{2});
    EXPECT_EQ(squeezed.seen(8, 1), "n1 c8 in10");
}

TEST(Inference, Selections) {
    Way slice;
    slice.ints("starts", {1, -3});
    slice.ints("ends", {9223372036854775807, -1});
    slice.ints("axes", {1, 3});
    slice.ints("steps", {2, 1});
    slice.node("Slice", {"x", "starts", "ends", "axes", "steps"}, "v");
    EXPECT_EQ(slice.seen(4), "n1 c4 in12x2");
    Way back;
    back.ints("starts", {-1});
    back.ints("ends", {-9223372036854775807 - 1});
    back.ints("axes", {2});
    back.ints("steps", {-5});
    back.node("Slice", {"x", "starts", "ends", "axes", "steps"}, "v");
    EXPECT_EQ(back.seen(8), "n1 c8 in3x10");
    Way concat;
    concat.node("Relu", {"x"}, "a");
    set(concat.node("Concat", {"a", "x", "x"}, "v"), "axis", std::int64_t{-3});
    EXPECT_EQ(concat.seen(24), "n1 c24 in12x10");
    Way split;
    NodeProto& halves = split.node("Split", {"x"}, "a");
    halves.add_output("v");
    set(halves, "axis", std::int64_t{1});
    EXPECT_EQ(split.seen(4), "n1 c4 in12x10");
    Way sizes;
    sizes.ints("sizes", {3, 5});
    NodeProto& parts = sizes.node("Split", {"x", "sizes"}, "a");
    parts.add_output("v");
    set(parts, "axis", std::int64_t{1});
    EXPECT_EQ(sizes.seen(5), "n1 c5 in12x10");
    Way pad;
    pad.ints("pads", {0, 0, 1, 2, 0, 0, 3, -1});
    pad.node("Pad", {"x", "pads"}, "v");
    EXPECT_EQ(pad.seen(8), "n1 c8 in16x11");
    Way expand;
    expand.ints("to", {4, 1, 1, 1});
    expand.node("Expand", {"x", "to"}, "v");
    EXPECT_EQ(expand.seen(8), "n4 c8 in12x10");
    Way tile;
    tile.ints("by", {1, 2, 1, 3});
    tile.node("Tile", {"x", "by"}, "v");
    EXPECT_EQ(tile.seen(16), "n1 c16 in12x30");
    Way gather;
    gather.ints("which", {0, 3, 5});
    set(gather.node("Gather", {"x", "which"}, "v"), "axis", std::int64_t{1});
    EXPECT_EQ(gather.seen(3), "n1 c3 in12x10");
    Way fresh;
    fresh.ints("to", {1, 8, 5});
    fresh.node("ConstantOfShape", {"to"}, "v");
    EXPECT_EQ(fresh.seen(8, 1), "n1 c8 in5");
}

// A generator's head, as DCGAN and many decoders have it.
TEST(Inference, Products) {
    Way way({-1, 100});
    add_weights(way.graph(), "w", {128, 100});
    set(way.node("Gemm", {"x", "w"}, "a"), "transB", std::int64_t{1});
    way.ints("to", {-1, 8, 4, 4});
    way.node("Reshape", {"a", "to"}, "v");
    EXPECT_EQ(way.seen(8), "unknown: axis 0 (N)");
    EXPECT_EQ(way.seen(8, 2, {{"x=16x100"}}), "n16 c8 in4x4");
    Way matrices;
    add_weights(matrices.graph(), "w", {10, 7});
    matrices.node("MatMul", {"x", "w"}, "v");
    EXPECT_EQ(matrices.seen(8), "n1 c8 in12x7");
    Way reduced;
    NodeProto& mean = reduced.node("ReduceMean", {"x"}, "v");
    set(mean, "axes", Ints{-1});
    set(mean, "keepdims", std::int64_t{0});
    EXPECT_EQ(reduced.seen(8, 1), "n1 c8 in12");
    Way recurrent({7, 2, 16});
    set(recurrent.node("LSTM", {"x", "w", "r"}, "a"), "hidden_size", std::int64_t{8});
    recurrent.ints("axes", {1});
    recurrent.node("Squeeze", {"a", "axes"}, "b");
    set(recurrent.node("Transpose", {"b"}, "v"), "perm", Ints{1, 2, 0});
    EXPECT_EQ(recurrent.seen(8, 1), "n2 c8 in7");
}

TEST(Inference, WhatIsNotKnownIsToldFromWhereItBegins) {
    Way way;
    way.node("NonZero", {"x"}, "a");
    way.node("Relu", {"a"}, "v");
    EXPECT_THAT(way.seen(8), HasSubstr("node \"NonZero\" (NonZero) is an operator whose shapes are not known here"));
    add_value_info(way.graph(), "a", {2, 8, 5, 5});
    EXPECT_EQ(way.seen(8), "n2 c8 in5x5") << "what the model says of it counts then";
    Way foreign;
    foreign.node("Relu", {"x"}, "v").set_domain("com.example");
    EXPECT_THAT(foreign.seen(8), HasSubstr("node \"Relu\" (Relu) of domain \"com.example\" is an operator"));
    Way unmade;
    unmade.node("Relu", {"ghost"}, "v");
    EXPECT_THAT(unmade.seen(8), HasSubstr("the shape of \"ghost\", an input of node \"Relu\" (Relu), is not known"));
}

TEST(Inference, SymbolsStayWhatTheyAre) {
    Way way({-1, 8, -2, -3});
    way.node("Relu", {"x"}, "v");
    EXPECT_EQ(way.seen(8), "unknown: axis 0 (N), axis 2 (H), axis 3 (W)");
    Way pooled({-1, 8, -2, -3});
    NodeProto& node = pooled.node("MaxPool", {"x"}, "v");
    set(node, "kernel_shape", Ints{2, 2});
    EXPECT_EQ(pooled.seen(8), "unknown: axis 0 (N), axis 2 (something of H), axis 3 (something of W)");
    EXPECT_EQ(pooled.seen(8, 2, {{"N=1", "H=12", "W=10"}}), "n1 c8 in11x9");
}

TEST(Inference, GraphsWithinNodes) {
    ModelProto model = make_model(13);
    GraphProto& graph = *model.mutable_graph();
    add_input(graph, "x", {2, 3, 5, 5});
    add_input(graph, "c", {}, TensorProto::BOOL);
    NodeProto& choice = add_node(graph, "If", {"c"}, {"v"}, "if1");
    for (const char* branch : {"then_branch", "else_branch"}) {
        GraphProto& inner = *add_attribute(choice, branch, AttributeProto::GRAPH).mutable_g();
        add_weights(inner, "w", {3, 4, 2, 2});
        const std::string made = fmt::format("made_{}", branch);
        add_node(inner, "ConvTranspose", {"x", "w"}, {made}, "up");  // x is the outer graph's
        add_output(inner, made);
    }
    add_weights(graph, "w2", {4, 1, 2, 2});
    add_node(graph, "ConvTranspose", {"v", "w2"}, {"y"}, "last");
    const Imported imported = import_of(model);
    ASSERT_EQ(imported.layers.size(), 3U);
    EXPECT_EQ(imported.layers[0].named.name, "last");
    EXPECT_EQ(to_string(imported.layers[0].named.layer), "n2 c4 o1 in6x6 k2x2 f32");
    EXPECT_EQ(imported.layers[1].named.name, "if1/then_branch/up");
    EXPECT_EQ(to_string(imported.layers[1].named.layer), "n2 c3 o4 in5x5 k2x2 f32");
    EXPECT_EQ(imported.layers[2].named.name, "if1/else_branch/up");
}

TEST(Inference, WrongGraphsAreRefused) {
    ModelProto twice = one_node({1, 1, 3}, {1, 1, 3});
    add_node(*twice.mutable_graph(), "Relu", {"x"}, {"y"}, "again");
    EXPECT_EQ(error_of(twice),
              "m.onnx: node \"again\" (Relu) output 0 is \"y\"; allowed: a name that nothing else in its graph has");
    ModelProto opset = one_node({1, 1, 3}, {1, 1, 3}, 0);
    EXPECT_THAT(error_of(opset), HasSubstr("opset_import.version is 0"));
    EXPECT_THAT(import_of(one_node({1, 1, 3}, {1, 1, 3}, 99)).notes.at(0), HasSubstr("opset 99"));
    ModelProto many = one_node({1, 1, 3}, {1, 1, 3});
    NodeProto& split = add_node(*many.mutable_graph(), "Split", {"x"}, {}, "many");
    for (int i = 0; i < 1100000; ++i) split.add_output(fmt::format("o{}", i));
    EXPECT_THAT(error_of(many), HasSubstr("the number of values is above 1048576"));
}

TEST(Inference, AllOperatorsEndureWhateverIsThere) {
    // No inputs, inputs of no shape, attributes of a wrong type: told, and nothing else.
    const std::vector<const char*> operators = {"Conv",
                                                "MaxPool",
                                                "GlobalMaxPool",
                                                "ConvTranspose",
                                                "Reshape",
                                                "Flatten",
                                                "Squeeze",
                                                "Unsqueeze",
                                                "Transpose",
                                                "DepthToSpace",
                                                "Concat",
                                                "Split",
                                                "Slice",
                                                "Pad",
                                                "Expand",
                                                "Tile",
                                                "Gather",
                                                "GatherElements",
                                                "Shape",
                                                "Size",
                                                "Constant",
                                                "ConstantOfShape",
                                                "RandomNormal",
                                                "Range",
                                                "MatMul",
                                                "Gemm",
                                                "LSTM",
                                                "Resize",
                                                "Upsample",
                                                "GridSample",
                                                "Add",
                                                "Where",
                                                "Cast",
                                                "CastLike",
                                                "ReduceSum",
                                                "ArgMax",
                                                "Identity",
                                                "Dropout",
                                                "Equal",
                                                "Min",
                                                "BatchNormalization",
                                                "QuantizeLinear",
                                                "DequantizeLinear",
                                                "If",
                                                "Loop",
                                                "Scan",
                                                "Relu"};
    for (const char* op : operators)
        for (const int inputs : {0, 1, 2, 3, 5})
            for (const bool known : {false, true})
                for (const bool attributes : {false, true}) {
                    ModelProto model = make_model(13);
                    GraphProto& graph = *model.mutable_graph();
                    if (known) *graph.add_initializer() = ints_tensor("a", {0, -1, 9223372036854775807});
                    NodeProto& node = add_node(graph, op, {}, {"v", "u"});
                    for (int i = 0; i < inputs; ++i) node.add_input("a");
                    if (attributes)
                        for (const char* name : {"axis", "axes", "perm", "to", "strides", "value", "split", "shape"})
                            set(node, name, std::string("no"));
                    add_weights(graph, "w", {3, 1, 1});
                    add_node(graph, "ConvTranspose", {"v", "w"}, {"y"});
                    EXPECT_EQ(error_of(model), "no error") << op;
                }
}

}  // namespace
}  // namespace convt_jit::onnx_import
