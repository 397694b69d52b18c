#include "onnx/conv_transpose.h"

#include "imported.h"

namespace convt_jit::onnx_import {
namespace {

using ::testing::HasSubstr;

template <class Value>
ModelProto with(ModelProto model, const std::string& name, const Value& value) {
    set(node_named(model, "up"), name, value);
    return model;
}

using Ints = std::vector<std::int64_t>;

TEST(ConvTranspose, DefaultsInEveryVersion) {
    for (const std::int64_t opset : {1, 6, 9, 11, 13, 22, 28})
        EXPECT_EQ(layer_text(one_node({2, 3, 5, 6}, {3, 4, 3, 2}, opset)), "n2 c3 o4 in5x6 k3x2 f32") << opset;
}

TEST(ConvTranspose, OneToThreeDimensions) {
    EXPECT_EQ(layer_text(one_node({2, 3, 5}, {3, 4, 3})), "n2 c3 o4 in5 k3 f32");
    EXPECT_EQ(layer_text(one_node({2, 3, 5, 6, 7}, {3, 4, 3, 2, 1})), "n2 c3 o4 in5x6x7 k3x2x1 f32");
    EXPECT_THAT(layer_text(one_node({2, 3, 5, 6, 7, 8}, {3, 4, 3, 2, 1, 1})),
                HasSubstr("failed: the shape of W is [3, 4"));
    EXPECT_THAT(layer_text(one_node({2, 3}, {3, 4})), HasSubstr("1 to 3 kernel sizes"));
}

TEST(ConvTranspose, AllAttributes) {
    ModelProto model = one_node({1, 4, 5, 6}, {4, 3, 3, 3});
    NodeProto& node = node_named(model, "up");
    set(node, "group", std::int64_t{2});
    set(node, "kernel_shape", Ints{3, 3});
    set(node, "strides", Ints{2, 3});
    set(node, "dilations", Ints{2, 1});
    set(node, "pads", Ints{1, 2, 0, 1});
    set(node, "output_padding", Ints{1, 2});
    node.add_input("b");
    add_weights(*model.mutable_graph(), "b", {6});
    EXPECT_EQ(layer_text(model), "n1 c4 o6 in5x6 k3x3 s2x3 p1x2:0x1 op1x2 d2x1 g2 bias f32");
}

TEST(ConvTranspose, AutoPad) {
    const ModelProto model = with(one_node({1, 1, 3, 3}, {1, 2, 3, 3}), "strides", Ints{2, 2});
    const auto padded = [&](const std::string& mode) { return layer_text(with(model, "auto_pad", mode)); };
    EXPECT_EQ(padded("NOTSET"), "n1 c1 o2 in3x3 k3x3 s2 f32");
    EXPECT_EQ(padded("VALID"), "n1 c1 o2 in3x3 k3x3 s2 f32");
    EXPECT_EQ(padded("SAME_UPPER"), "n1 c1 o2 in3x3 k3x3 s2 p0:1 f32");
    EXPECT_EQ(padded("SAME_LOWER"), "n1 c1 o2 in3x3 k3x3 s2 p1:0 f32");
    EXPECT_EQ(padded("SAME"), "failed: auto_pad is \"SAME\"; allowed: NOTSET, VALID, SAME_UPPER or SAME_LOWER");
    EXPECT_TRUE(import_of(with(model, "auto_pad", std::string("SAME_UPPER"))).layers[0].by_rule);
    EXPECT_FALSE(import_of(model).layers[0].by_rule);
    // SAME needs no size: it is the same crop for all.
    EXPECT_EQ(layer_text(with(with(one_node({-1, 1, -2, -3}, {1, 2, 3, 3}), "strides", Ints{2, 2}), "auto_pad",
                              std::string("SAME_UPPER"))),
              "c1 o2 k3x3 s2 p0:1 f32");
}

TEST(ConvTranspose, OutputShape) {
    ModelProto model = with(one_node({1, 1, 3, 3}, {1, 2, 3, 3}), "strides", Ints{3, 2});
    EXPECT_EQ(layer_text(with(model, "output_shape", Ints{10, 8})), "n1 c1 o2 in3x3 k3x3 s3x2 op1 f32");
    EXPECT_EQ(layer_text(with(model, "output_shape", Ints{8, 6})), "n1 c1 o2 in3x3 k3x3 s3x2 p1:0 f32");
    EXPECT_EQ(layer_text(with(model, "output_shape", Ints{12, 8})),
              "failed: output_shape[0] is 12; allowed: up to 11, what output_padding can add");
    EXPECT_THAT(layer_text(with(model, "output_shape", Ints{10})),
                HasSubstr("output_shape is [10]; allowed: 2 values"));
    EXPECT_THAT(layer_text(with(model, "output_shape", Ints{114078056, 179835296})), HasSubstr("output_shape[0]"));
    EXPECT_THAT(layer_text(with(model, "output_shape", Ints{10, -8})), HasSubstr("output_shape[1] is -8"));
    ModelProto open =
        with(with(one_node({1, 1, -2, 3}, {1, 2, 3, 3}), "strides", Ints{3, 2}), "output_shape", Ints{10, 8});
    EXPECT_THAT(layer_text(open), HasSubstr("the size of X on axis 2 (H)"));
    EXPECT_EQ(layer_text(open, {{"H=3"}}), "n1 c1 o2 in3x3 k3x3 s3x2 op1 f32");
}

TEST(ConvTranspose, WrongAttributesAreNamed) {
    const ModelProto model = one_node({1, 4, 5, 6}, {4, 3, 3, 3});
    const auto failure = [](const ModelProto& wrong) { return layer_text(wrong); };
    EXPECT_EQ(failure(with(model, "strides", Ints{2})), "failed: strides is [2]; allowed: 2 values");
    EXPECT_EQ(failure(with(model, "strides", Ints{2, 0})), "failed: strides[1] is 0; allowed: 1 to 65536");
    EXPECT_EQ(failure(with(model, "dilations", Ints{-1, 1})), "failed: dilations[0] is -1; allowed: 1 to 2147483647");
    EXPECT_EQ(failure(with(model, "pads", Ints{0, 0, 0, -1})), "failed: pads[3] is -1; allowed: 0 to 2147483647");
    EXPECT_EQ(failure(with(model, "pads", Ints{0, 0})), "failed: pads is [0, 0]; allowed: 4 values");
    EXPECT_THAT(failure(with(model, "output_padding", Ints{1, 0})), HasSubstr("output_padding[0] is 1"));
    EXPECT_EQ(failure(with(model, "group", std::int64_t{3})),
              "failed: group is 3; allowed: a divisor of the 4 channels of X");
    EXPECT_THAT(failure(with(model, "group", std::int64_t{0})), HasSubstr("group is 0"));
    EXPECT_EQ(failure(with(model, "kernel_shape", Ints{3, 5})),
              "failed: kernel_shape is [3, 5]; allowed: [3, 3], as W has it");
    EXPECT_EQ(failure(with(model, "group", std::string("2"))), "failed: group is of type STRING; allowed: type INT");
    EXPECT_EQ(failure(with(with(model, "group", std::int64_t{1}), "group", std::int64_t{2})),
              "failed: group is given twice; allowed: one value");
    EXPECT_THAT(failure(with(model, "strides", Ints(100000, 1))), HasSubstr("100000 in all"));
    EXPECT_THAT(failure(with(one_node({1, 1, 2, 2}, {1, 1, 1, 1}), "pads", Ints{1, 1, 1, 1})), HasSubstr("out"));
}

TEST(ConvTranspose, ShapesMustGoTogether) {
    EXPECT_EQ(layer_text(one_node({1, 5, 5, 6}, {4, 3, 3, 3})), "failed: the channels of X is 5; allowed: 4, as W has");
    EXPECT_EQ(layer_text(one_node({1, 4, 5}, {4, 3, 3, 3})),
              "failed: the shape of X is 1x4x5; allowed: 4 axes, as W has");
    ModelProto bias = one_node({1, 4, 5, 6}, {4, 3, 3, 3});
    node_named(bias, "up").add_input("b");
    add_weights(*bias.mutable_graph(), "b", {4});
    EXPECT_EQ(layer_text(bias), "failed: the shape of B is 4; allowed: 3");
}

TEST(ConvTranspose, Types) {
    const auto typed = [](int x, int w) {
        ModelProto model = one_node({1, 1, 3}, {1, 1, 3});
        model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(x);
        model.mutable_graph()->mutable_initializer(0)->set_data_type(w);
        return layer_text(model);
    };
    EXPECT_EQ(typed(TensorProto::FLOAT16, TensorProto::FLOAT16), "n1 c1 o1 in3 k3 f16");
    EXPECT_EQ(typed(TensorProto::BFLOAT16, TensorProto::BFLOAT16), "n1 c1 o1 in3 k3 bf16");
    EXPECT_EQ(typed(TensorProto::DOUBLE, TensorProto::DOUBLE),
              "failed: the type of W is DOUBLE; allowed: FLOAT, FLOAT16 or BFLOAT16");
    EXPECT_EQ(typed(TensorProto::FLOAT, TensorProto::FLOAT16),
              "failed: the type of W is FLOAT16; allowed: FLOAT, as X has it");
    EXPECT_THAT(typed(99, 99), HasSubstr("type 99"));
    for (const auto& [type, wrong] :
         {std::pair{TensorProto::FLOAT, ""}, {TensorProto::FLOAT16, "FLOAT16"}, {TensorProto::INT64, "INT64"}}) {
        ModelProto model = one_node({1, 4, 5, 6}, {4, 3, 3, 3});
        node_named(model, "up").add_input("b");
        add_weights(*model.mutable_graph(), "b", {3});
        model.mutable_graph()->mutable_initializer(1)->set_data_type(type);
        const std::string text = layer_text(model);
        if (*wrong == 0)
            EXPECT_EQ(text, "n1 c4 o3 in5x6 k3x3 bias f32");
        else
            EXPECT_EQ(text, std::string("failed: the type of B is ") + wrong + "; allowed: FLOAT, as W has it");
    }
}

TEST(ConvTranspose, UnknownSizesAreNamed) {
    const Imported imported = import_of(one_node({-1, 3, -2, 6}, {3, 4, 3, 2}));
    EXPECT_EQ(to_string(imported.layers.at(0).named.layer), "c3 o4 k3x2 f32");
    EXPECT_EQ(imported.layers[0].unknown_sizes, "axis 0 (N), axis 2 (H)");
    EXPECT_EQ(layer_text(one_node({-1, 3, -2, 6}, {3, 4, 3, 2}), {{"x=8x3x5x6"}}), "n8 c3 o4 in5x6 k3x2 f32");
    EXPECT_EQ(layer_text(one_node({-1, 3, -2, 6}, {3, 4, 3, 2}), {{"N=8"}}), "n8 c3 o4 k3x2 f32");
}

TEST(ConvTranspose, HugeSizesAreRefused) {
    constexpr std::int64_t kHuge = std::int64_t{1} << 62;
    ModelProto model = one_node({1, 1, 3, 3}, {1, 1, 3, 3});
    auto& weights = *model.mutable_graph()->mutable_initializer(0);
    weights.set_dims(2, kHuge);
    weights.set_dims(3, kHuge);
    EXPECT_THAT(layer_text(model), HasSubstr("failed: initializer \"w\": dims[2] is 4611686018427387904"));
    weights.set_dims(2, -3);
    EXPECT_THAT(layer_text(model), HasSubstr("dims[2] is -3"));
    EXPECT_THAT(layer_text(one_node({1, 1, std::int64_t{1} << 60, 65536}, {1, 1, 3, 3})), HasSubstr("failed: "));
}

}  // namespace
}  // namespace convt_jit::onnx_import
