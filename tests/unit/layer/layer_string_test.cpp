#include "convt_jit/error.h"
#include "convt_jit/layer.h"

#include <gtest/gtest.h>

namespace convt_jit {
namespace {

constexpr auto kExample = "n16 c32 o64 in128x256 k3x5 s2x3 p1x2 d2x1 g4 bias f32";

TEST(LayerString, ReadsTheExample) {
    const Layer layer = parse_layer(kExample);
    EXPECT_EQ(layer.in_channels, 32);
    EXPECT_EQ(layer.out_channels, 64);
    EXPECT_EQ(layer.groups, 4);
    EXPECT_EQ(layer.kernel, (Dims{3, 5}));
    EXPECT_EQ(layer.stride, (Dims{2, 3}));
    EXPECT_EQ(layer.pad_begin, (Dims{1, 2}));
    EXPECT_EQ(layer.pad_end, (Dims{1, 2}));
    EXPECT_EQ(layer.output_padding, (Dims{0, 0}));
    EXPECT_EQ(layer.dilation, (Dims{2, 1}));
    EXPECT_TRUE(layer.bias);
    EXPECT_EQ(layer.dtype, DType::f32);
    EXPECT_EQ(layer.precision, Precision::ieee);
    EXPECT_EQ(layer.layout, Layout::channels_first);
    EXPECT_EQ(layer.batch, 16);
    EXPECT_EQ(layer.input, (Dims{128, 256}));
    EXPECT_EQ(to_string(layer), kExample);
}

}  // namespace
}  // namespace convt_jit
