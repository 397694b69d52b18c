#include "convt_jit/error.h"
#include "convt_jit/layer.h"
#include "layer/fingerprint.h"
#include "random_layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace convt_jit {
namespace {

constexpr auto kExample = "n16 c32 o64 in128x256 k3x5 s2x3 p1x2 d2x1 g4 bias f32";

// Field and whole message of what parse_layer throws; both empty where it does not.
struct Refusal {
    std::string field, message;
};

Refusal refusal(const std::string& text) {
    try {
        (void)parse_layer(text);
    } catch (const LayerError& error) {
        return {error.field(), error.what()};
    }
    return {};
}

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

TEST(LayerString, ReadsTokensInAnyOrderBetweenAnyBlanks) {
    EXPECT_EQ(parse_layer("  f32 bias\tg4 d2x1 p1x2 s2x3\n k3x5 in128x256 o64 c32 n16 "), parse_layer(kExample));
}

TEST(LayerString, FillsPyTorchsDefaults) {
    EXPECT_EQ(parse_layer("c3 o5 k2x4"), Layer::make(3, 5, {2, 4}));
    EXPECT_EQ(to_string(parse_layer("c3 o5 k2x4")), "c3 o5 k2x4 f32");
}

TEST(LayerString, OneNumberMeansAllAxes) {
    const Layer layer = parse_layer("c3 o5 k4 s2 p1 op1 d3 in8x8x8");
    EXPECT_EQ(layer.kernel, (Dims{4, 4, 4}));
    EXPECT_EQ(layer.stride, (Dims{2, 2, 2}));
    EXPECT_EQ(layer.pad_end, (Dims{1, 1, 1}));
    EXPECT_EQ(layer.output_padding, (Dims{1, 1, 1}));
    EXPECT_EQ(layer.dilation, (Dims{3, 3, 3}));
    EXPECT_EQ(to_string(layer), "c3 o5 in8x8x8 k4x4x4 s2 p1 op1 d3 f32");
    EXPECT_EQ(parse_layer("c3 o5 k3x3 in7").input, (Dims{7, 7}));
}

TEST(LayerString, TakesTheNumberOfAxesFromAnyTokenThatTellsIt) {
    EXPECT_EQ(parse_layer("c3 o5 k3").spatial_dims(), 1);
    EXPECT_EQ(parse_layer("c3 o5 k3 in9").spatial_dims(), 1);
    EXPECT_EQ(parse_layer("c3 o5 k3 in9x9").spatial_dims(), 2);
    EXPECT_EQ(parse_layer("c3 o5 k3 s2x1x1").spatial_dims(), 3);
    EXPECT_EQ(parse_layer("c3 o5 k3 p1:0x1").spatial_dims(), 2);
    EXPECT_EQ(to_string(parse_layer("c3 o5 k3 s2")), "c3 o5 k3 s2 f32");
}

TEST(LayerString, ReadsPaddingPerSide) {
    const Layer layer = parse_layer("c3 o5 k5x5 p1x2:0x3");
    EXPECT_EQ(layer.pad_begin, (Dims{1, 2}));
    EXPECT_EQ(layer.pad_end, (Dims{0, 3}));
    EXPECT_EQ(to_string(layer), "c3 o5 k5x5 p1x2:0x3 f32");
    EXPECT_EQ(to_string(parse_layer("c3 o5 k5x5 p1x1:0")), "c3 o5 k5x5 p1:0 f32");
    EXPECT_EQ(to_string(parse_layer("c3 o5 k5x5 p2x1:2x1")), "c3 o5 k5x5 p2x1 f32");
}

TEST(LayerString, ReadsWords) {
    EXPECT_EQ(parse_layer("c3 o5 k3 f16").dtype, DType::f16);
    EXPECT_EQ(parse_layer("c3 o5 k3 bf16").dtype, DType::bf16);
    EXPECT_EQ(parse_layer("c3 o5 k3 tf32").precision, Precision::tf32);
    EXPECT_EQ(parse_layer("c3 o5 k3 nhwc").layout, Layout::channels_last);
    EXPECT_EQ(parse_layer("c3 o5 k3 nchw").layout, Layout::channels_first);
    const Epilogue epilogue = parse_layer("c3 o5 k3 clamp-1:1.5 leaky0.2 residual affine scale-0.5 bias").epilogue;
    EXPECT_EQ(epilogue.activation, Activation::leaky_relu);
    EXPECT_EQ(epilogue.negative_slope, 0.2F);
    EXPECT_EQ(epilogue.scale, -0.5F);
    EXPECT_TRUE(epilogue.affine && epilogue.residual);
    EXPECT_EQ(epilogue.clamp, (std::array{-1.0F, 1.5F}));
    EXPECT_EQ(to_string(parse_layer("c3 o5 k3 clamp-1:1.5 nhwc leaky0.2 residual tf32 affine scale-0.5 bias")),
              "c3 o5 k3 bias tf32 nhwc scale-0.5 affine residual leaky0.2 clamp-1:1.5");
    EXPECT_EQ(to_string(parse_layer("c3 o5 k3 leaky")), "c3 o5 k3 f32 leaky0.01");
    EXPECT_EQ(to_string(parse_layer("c3 o5 k3 clamp-inf:6")), "c3 o5 k3 f32 clamp-inf:6");
    for (const char* word : {"relu", "gelu", "tanh", "sigmoid", "silu", "hardswish"})
        EXPECT_EQ(to_string(parse_layer(std::string("c3 o5 k3 ") + word)), std::string("c3 o5 k3 f32 ") + word);
}

TEST(LayerString, IsReadBackAsTheSameLayer) {
    constexpr std::uint64_t seed = 77;
    RandomLayers random(seed);
    for (int i = 0; i < 5000; ++i) {
        Layer layer = random.draw();
        if (random.chance(30)) layer.batch.reset();
        if (random.chance(30)) layer.input = {};
        const std::string text = to_string(layer);
        SCOPED_TRACE("seed " + std::to_string(seed) + " layer " + std::to_string(i) + ": " + text);
        ASSERT_NO_THROW(validate(layer));
        ASSERT_EQ(parse_layer(text), layer);
        ASSERT_EQ(to_string(parse_layer(text)), text);
    }
}

TEST(LayerString, KeepsEveryBitOfAFloat) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 10000; ++i) {
        const auto bits = static_cast<std::uint32_t>(random());
        float value;
        std::memcpy(&value, &bits, sizeof value);
        if (!std::isfinite(value)) continue;
        Layer layer = Layer::make(1, 1, {1});
        layer.epilogue.scale = value;
        ASSERT_EQ(parse_layer(to_string(layer)).epilogue.scale, value) << to_string(layer);
    }
}

TEST(LayerString, NamesTokenAndColumnOfWhatItCannotRead) {
    const auto check = [](const std::string& text, const std::string& field, const std::string& in_message) {
        SCOPED_TRACE(text);
        const Refusal refused = refusal(text);
        EXPECT_EQ(refused.field, field);
        EXPECT_NE(refused.message.find(in_message), std::string::npos) << refused.message;
    };
    check("n16 c32 o64  k3y5", "k3y5", "column 14: k3y5");
    check("c32 o64 k3 foo", "foo", "column 12: foo is unknown");
    check("c32 o64 k3 BIAS", "BIAS", "column 12");
    check("c32 o64 k3 k5", "k5", "column 12: k5 is a second word for the same as k3 in column 9");
    check("c32 o64 k3 relu silu", "silu", "relu in column 12");
    check("c32 o64 k3 f16 tf32", "tf32", "f16 in column 12");
    check("c32 o64 k3 nchw nhwc", "nhwc", "column 17");
    check("c32 o64 k3 p1 p2:3", "p2:3", "column 15");
    check("c32 o64 k3 bias bias", "bias", "column 17");
    check("c32 o64 k", "k", "column 9");
    check("c32 o64 k3x", "k3x", "column 9");
    check("c32 o64 kx3", "kx3", "column 9");
    check("c32 o64 k3x3x3x3", "k3x3x3x3", "more than 3");
    check("c32 o64 k3.5", "k3.5", "whole numbers");
    check("c32 o64 k+3", "k+3", "column 9");
    check("c32 o64 k99999999999999999999", "k99999999999999999999", "64 bits");
    check("c3x2 o64 k3", "c3x2", "column 1");
    check("c32 o64 k3 p1:", "p1:", "such as p1, p1x2, p1:2 or p1x2:0x3");
    check("c32 o64 k3 s3y", "s3y", "such as s3 or s3x5x7");
    check("c3y o64 k3", "c3y", "c and one number");
    check("c8 o9 k3 g4", "groups", "groups is 4; allowed: common divisors of in_channels 8 and out_channels 9");
    check("c32 o64 k3 p1:2:3", "p1:2:3", "column 12");
    check("c32 o64 k3 leakyx", "leakyx", "column 12");
    check("c32 o64 k3 scale", "scale", "column 12");
    check("c32 o64 k3 scale1e99", "scale1e99", "range of f32");
    check("c32 o64 k3 clamp1", "clamp1", "column 12");
    check("c32 o64 k3 clamp0:1:2", "clamp0:1:2", "column 12");
    check("c32 o64 k3x5 s2x2x2", "s2x2x2", "column 14: s2x2x2 is 3 values for 2 spatial dimensions");
    check("c32 o64 in4x4 k3x5x7", "in4x4", "column 9");
    check("c32 o64 k3x5 p1:1x2x3", "p1:1x2x3", "column 14");
    check("o64 k3", "c", "c is missing");
    check("c32 k3", "o", "o is missing");
    check("c32 o64", "k", "k is missing");
    check("", "c", "c is missing");
    check("c32 o64 k3 \xc3\xa9\x01", "\\xc3\\xa9\\x01", "column 12");
}

TEST(LayerString, ValidatesWhatItReads) {
    EXPECT_EQ(refusal("c32 o64 k3x5 s2x0").field, "stride[1]");
    EXPECT_EQ(refusal("c32 o64 k3x5 p-1x0").field, "padding[0]");
    EXPECT_EQ(refusal("c32 o64 k3x5 p1:1x-1").field, "padding_end[1]");
    EXPECT_EQ(refusal("c32 o64 k3x5 g5").field, "groups");
    EXPECT_EQ(refusal("c32 o64 k3x5 clamp2:1").field, "epilogue.clamp");
    EXPECT_EQ(refusal("c32 o64 k3x5 clampnan:1").field, "epilogue.clamp");
    EXPECT_EQ(refusal("c32 o64 k3x5 scaleinf").field, "epilogue.scale");
    EXPECT_EQ(refusal("c32 o64 k3x5 leakynan").field, "epilogue.negative_slope");
    EXPECT_EQ(refusal("n-1 c32 o64 k3x5").field, "batch");
    EXPECT_EQ(refusal("c32 o64 k3x5 in0x4").field, "input[0]");
}

TEST(LayerString, SurvivesAnyBytes) {
    std::mt19937_64 random(9);
    const std::string alphabet =
        "ncokinspdg0123456789x:-. \t\xff"
        "biasf3216scaleclampleakyinfnan";
    for (int i = 0; i < 20000; ++i) {
        std::string text = i % 2 == 0 ? "c4 o4 k3 " : "";
        for (std::uint64_t length = random() % 20; length > 0; --length) text += alphabet[random() % alphabet.size()];
        try {
            const Layer layer = parse_layer(text);
            ASSERT_EQ(parse_layer(to_string(layer)), layer) << text;
        } catch (const LayerError&) {
        }
    }
}

TEST(Fingerprint, LeavesOutBatchAndInput) {
    EXPECT_EQ(fingerprint(parse_layer(kExample)), "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias f32");
    EXPECT_EQ(fingerprint(parse_layer("c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias f32 n3 in1x1")),
              fingerprint(parse_layer(kExample)));
    EXPECT_NE(fingerprint(parse_layer("c32 o64 k3x5 s2x3 p1x2 d2x1 g4 f32")), fingerprint(parse_layer(kExample)));
}

}  // namespace
}  // namespace convt_jit
