#include "onnx/shape_binding.h"

#include "imported.h"

namespace convt_jit::onnx_import {
namespace {

using ::testing::HasSubstr;

TEST(ShapeBinding, IsParsed) {
    const ShapeRequest request = parse_shape("a=b=1x3x224x0");
    EXPECT_EQ(request.name, "a=b");
    EXPECT_EQ(request.sizes, (std::vector<std::int64_t>{1, 3, 224, 0}));
    for (const char* wrong :
         {"", "x", "=1", "x=", "x=1x", "x=x1", "x=-1", "x=1x-2", "x=+1", "x=1 x2", "x=1X2", "x=1.5",
          "x=9999999999999999999999", "x=1152921504606846977", "x=1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"})
        EXPECT_THROW((void)parse_shape(wrong), LayerError) << wrong;
}

TEST(ShapeBinding, SymbolsAreBoundEverywhere) {
    ModelProto model = one_node({-1, 3, -2, -2}, {3, 4, 3, 2});
    add_input(*model.mutable_graph(), "other", {-1, 7});
    EXPECT_EQ(layer_text(model, {{"x=2x3x5x5"}}), "n2 c3 o4 in5x5 k3x2 f32");
    EXPECT_EQ(layer_text(model, {{"x=2x3x5x5", "other=2x7"}}), "n2 c3 o4 in5x5 k3x2 f32");
    EXPECT_EQ(layer_text(model, {{"other=2x7", "H=5"}}), "n2 c3 o4 in5x5 k3x2 f32");
    EXPECT_THAT(error_of(model, {{"x=2x3x5x5", "other=3x7"}}), HasSubstr("--shape N is 3; allowed: 2"));
    EXPECT_THAT(error_of(model, {{"x=2x3x5x6"}}), HasSubstr("--shape H is 6; allowed: 5"));
}

TEST(ShapeBinding, WhatTheModelHasNotIsNamed) {
    const ModelProto model = one_node({-1, 3, 5, 5}, {3, 4, 3, 2});
    EXPECT_EQ(error_of(model, {{"y=1x2"}}), "--shape is for \"y\"; allowed: \"N\", \"x\"");
    EXPECT_EQ(error_of(model, {{"w=3x4x3x2"}}), "--shape is for \"w\"; allowed: \"N\", \"x\"");
    EXPECT_EQ(error_of(model, {{"x=1x3x5"}}), "--shape x is [1, 3, 5]; allowed: 4 sizes");
    EXPECT_EQ(error_of(model, {{"x=1x4x5x5"}}), "--shape x (axis 1) is 4; allowed: 3, as the model has it");
    EXPECT_EQ(error_of(model, {{"x=1x3x5x5", "x=1x3x5x5"}}), "--shape x is given twice; allowed: one shape");
}

TEST(ShapeBinding, AnInputOfNoShapeTakesAny) {
    ModelProto model = one_node({1, 3, 5, 5}, {3, 4, 3, 2});
    model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    EXPECT_EQ(layer_text(model, {{"x=2x3x5x5"}}), "n2 c3 o4 in5x5 k3x2 f32");
    EXPECT_EQ(layer_text(model), "c3 o4 k3x2 f32");
    EXPECT_THAT(import_of(model).layers[0].unknown_sizes, HasSubstr("the model gives its input \"x\" no shape"));
}

TEST(ShapeBinding, NegativeSizesAreUnknownOnes) {
    ModelProto model = one_node({1, 3, 5, 5}, {3, 4, 3, 2});
    auto& shape = *model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.mutable_dim(0)->set_dim_value(-1);
    EXPECT_EQ(layer_text(model), "c3 o4 in5x5 k3x2 f32");
    EXPECT_EQ(layer_text(model, {{"x=2x3x5x5"}}), "n2 c3 o4 in5x5 k3x2 f32");
}

}  // namespace
}  // namespace convt_jit::onnx_import
