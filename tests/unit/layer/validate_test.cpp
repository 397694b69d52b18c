#include "convt_jit/error.h"
#include "convt_jit/layer.h"
#include "layer/limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace convt_jit {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// "field value" of what `action` throws; empty where it throws nothing.
std::string refused(const std::function<void()>& action) {
    try {
        action();
    } catch (const LayerError& error) {
        EXPECT_FALSE(error.allowed().empty());
        return error.field() + " " + error.value();
    }
    return "";
}

std::string refused_with(const std::function<void(Layer&)>& spoil) {
    Layer layer = Layer::make(8, 12, {3, 5});
    layer.batch = 2;
    layer.input = {6, 7};
    spoil(layer);
    return refused([&] { validate(layer); });
}

TEST(Dims, HoldsUpToThreeValues) {
    EXPECT_EQ((Dims{1, 2, 3}).rank(), 3);
    EXPECT_TRUE(Dims{}.empty());
    EXPECT_EQ(Dims::filled(2, 7), (Dims{7, 7}));
    EXPECT_NE((Dims{0}), (Dims{0, 0}));
    EXPECT_EQ(to_string(Dims{3, 5}), "3x5");
    EXPECT_THROW((Dims{1, 2, 3, 4}), LayerError);
    EXPECT_THROW((void)Dims::filled(4, 1), LayerError);
    EXPECT_THROW((void)Dims::filled(-1, 1), LayerError);
}

TEST(Validate, TakesAValidLayer) {
    EXPECT_EQ(refused_with([](Layer&) {}), "");
    EXPECT_EQ(refused_with([](Layer& l) { l.batch = 0; }), "");
    EXPECT_EQ(refused_with([](Layer& l) { l.groups = 4; }), "");
}

TEST(Validate, NamesFieldAndValue) {
    EXPECT_EQ(refused_with([](Layer& l) { l.in_channels = 0; }), "in_channels 0");
    EXPECT_EQ(refused_with([](Layer& l) { l.out_channels = -3; }), "out_channels -3");
    EXPECT_EQ(refused_with([](Layer& l) { l.groups = 0; }), "groups 0");
    EXPECT_EQ(refused_with([](Layer& l) { l.groups = -2; }), "groups -2");
    EXPECT_EQ(refused_with([](Layer& l) { l.groups = 3; }), "groups 3");
    EXPECT_EQ(refused_with([](Layer& l) { l.groups = 8; }), "groups 8");
    EXPECT_EQ(refused_with([](Layer& l) { l.kernel = {}; }), "kernel_size empty");
    EXPECT_EQ(refused_with([](Layer& l) { l.kernel[1] = 0; }), "kernel_size[1] 0");
    EXPECT_EQ(refused_with([](Layer& l) { l.stride[0] = 0; }), "stride[0] 0");
    EXPECT_EQ(refused_with([](Layer& l) { l.stride[1] = 65537; }), "stride[1] 65537");
    EXPECT_EQ(refused_with([](Layer& l) { l.dilation[0] = -1; }), "dilation[0] -1");
    EXPECT_EQ(refused_with([](Layer& l) { l.pad_begin[1] = -1; }), "padding[1] -1");
    EXPECT_EQ(refused_with([](Layer& l) { l.pad_end[0] = -2; }), "padding_end[0] -2");
    EXPECT_EQ(refused_with([](Layer& l) { l.output_padding[1] = -1; }), "output_padding[1] -1");
    EXPECT_EQ(refused_with([](Layer& l) { l.output_padding[1] = 1; }), "output_padding[1] 1");
    EXPECT_EQ(refused_with([](Layer& l) { l.batch = -1; }), "batch -1");
    EXPECT_EQ(refused_with([](Layer& l) { l.input[1] = 0; }), "input[1] 0");
    EXPECT_EQ(refused_with([](Layer& l) { l.dtype = static_cast<DType>(3); }), "dtype 3");
    EXPECT_EQ(refused_with([](Layer& l) { l.layout = static_cast<Layout>(-1); }), "layout -1");
    EXPECT_EQ(refused_with([](Layer& l) { l.epilogue.activation = static_cast<Activation>(8); }),
              "epilogue.activation 8");
}

TEST(Validate, WantsOneValuePerAxis) {
    EXPECT_EQ(refused_with([](Layer& l) { l.stride = {1, 1, 1}; }), "stride 1x1x1, 3 values for 2 spatial dimensions");
    EXPECT_EQ(refused_with([](Layer& l) { l.dilation = {}; }), "dilation 0 values for 2 spatial dimensions");
    EXPECT_EQ(refused_with([](Layer& l) { l.pad_begin = {1}; }), "padding 1, 1 values for 2 spatial dimensions");
    EXPECT_EQ(refused_with([](Layer& l) { l.pad_end = {1}; }), "padding_end 1, 1 values for 2 spatial dimensions");
    EXPECT_EQ(refused_with([](Layer& l) { l.output_padding = {0}; }),
              "output_padding 0, 1 values for 2 spatial dimensions");
    EXPECT_EQ(refused_with([](Layer& l) { l.input = {4}; }), "input 4, 1 values for 2 spatial dimensions");
}

// Below the larger of stride and dilation, on each axis by itself.
TEST(Validate, BoundsOutputPaddingAsPyTorchDoes) {
    const auto layer = [](std::int64_t op0, std::int64_t op1) {
        Layer l = Layer::make(1, 1, {3, 3});
        l.stride = {3, 1};
        l.dilation = {1, 2};
        l.output_padding = {op0, op1};
        return l;
    };
    EXPECT_EQ(refused([&] { validate(layer(2, 1)); }), "");
    EXPECT_EQ(refused([&] { validate(layer(3, 1)); }), "output_padding[0] 3");
    EXPECT_EQ(refused([&] { validate(layer(2, 2)); }), "output_padding[1] 2");
}

TEST(Validate, ChecksNumberFormatAndEpilogue) {
    EXPECT_EQ(refused_with([](Layer& l) { l.precision = Precision::tf32; }), "");
    EXPECT_EQ(refused_with([](Layer& l) { l.precision = Precision::tf32, l.dtype = DType::bf16; }),
              "precision tf32 with dtype bf16");
    EXPECT_EQ(refused_with([](Layer& l) { l.epilogue.scale = kInf; }), "epilogue.scale inf");
    EXPECT_EQ(refused_with([](Layer& l) { l.epilogue.negative_slope = kNaN; }), "");  // no leaky_relu that would use it
    EXPECT_EQ(refused_with([](Layer& l) { l.epilogue = {Activation::leaky_relu, kNaN, {}, false, false, {}}; }),
              "epilogue.negative_slope nan");
    EXPECT_EQ(refused_with([](Layer& l) { l.epilogue.clamp = {1, 0}; }), "epilogue.clamp 1:0");
    EXPECT_EQ(refused_with([](Layer& l) { l.epilogue.clamp = {0, kNaN}; }), "epilogue.clamp 0:nan");
    EXPECT_EQ(refused_with([](Layer& l) { l.epilogue.clamp = {kNaN, 0}; }), "epilogue.clamp nan:0");
    EXPECT_EQ(refused_with([](Layer& l) { l.epilogue.clamp = {0, 0}; }), "");
    EXPECT_EQ(refused_with([](Layer& l) { l.epilogue.clamp = {-kInf, kInf}; }), "");
}

TEST(Validate, NamesTheComputedOutputSize) {
    EXPECT_EQ(refused_with([](Layer& l) { l.pad_begin = {4, 5}, l.pad_end = {3, 6}; }), "output[1] 0");
    EXPECT_EQ(refused_with([](Layer& l) { l.pad_begin = {4, 5}, l.pad_end = {9, 5}; }), "output[0] -5");
}

// Each size, one at a time, at the ends of its type: an error and no overflow.
TEST(Validate, RefusesTheExtremesOf64Bits) {
    const std::vector<std::function<std::int64_t&(Layer&)>> sizes_of = {
        [](Layer& l) -> std::int64_t& { return l.in_channels; },
        [](Layer& l) -> std::int64_t& { return l.out_channels; },
        [](Layer& l) -> std::int64_t& { return l.groups; },
        [](Layer& l) -> std::int64_t& { return l.kernel[0]; },
        [](Layer& l) -> std::int64_t& { return l.stride[1]; },
        [](Layer& l) -> std::int64_t& { return l.dilation[0]; },
        [](Layer& l) -> std::int64_t& { return l.pad_begin[1]; },
        [](Layer& l) -> std::int64_t& { return l.pad_end[0]; },
        [](Layer& l) -> std::int64_t& { return l.output_padding[1]; },
        [](Layer& l) -> std::int64_t& { return *l.batch; },
        [](Layer& l) -> std::int64_t& { return l.input[0]; },
    };
    for (const auto& size : sizes_of)
        for (const std::int64_t value : {kLargest, kSmallest, kLargest - 1, std::int64_t{1} << 61})
            EXPECT_NE(refused_with([&](Layer& l) { size(l) = value; }), "") << value;
}

TEST(Validate, RefusesTensorsTooLarge) {
    EXPECT_EQ(refused_with([](Layer& l) { l.in_channels = l.out_channels = kMaxSize, l.batch.reset(), l.input = {}; }),
              "w 2147483647x2147483647x3x5");
    EXPECT_EQ(refused_with([](Layer& l) { l.batch = kMaxElements / 8; }), "x 144115188075855872x8x6x7");
    EXPECT_EQ(refused_with([](Layer& l) {
                  l.batch = std::int64_t{1} << 40, l.stride = {65536, 65536};
              }),
              "y 1099511627776x12x327683x393221");
    EXPECT_EQ(refused_with([](Layer& l) {
                  l.input = {kMaxElements, 1}, l.stride = {65536, 1};
              }),
              "output[0] 75557863725914323353603");
    // An empty batch does not excuse planes that no tensor could have.
    EXPECT_EQ(refused_with([](Layer& l) {
                  l.batch = 0, l.input = {kMaxElements / 8, 2};
              }),
              "x 0x8x144115188075855872x2");
}

TEST(OutputSize, FollowsTheFormula) {
    EXPECT_EQ(output_size(parse_layer("c1 o1 k3x5 s2x3 p1x2 d2x1"), {128, 256}), (Dims{257, 766}));
    EXPECT_EQ(output_size(parse_layer("c1 o1 k4 s3 p1:2 op2"), {7}), Dims{21});
    EXPECT_EQ(output_size(parse_layer("c1 o1 k1x1x1"), {1, 2, 3}), (Dims{1, 2, 3}));
    EXPECT_EQ(output_size(parse_layer("c1 o1 k1 s65536"), {std::int64_t{1} << 40}),
              Dims{(std::int64_t{1} << 56) - 65535});
}

TEST(OutputSize, RefusesWhatIsBelowOne) {
    const auto error_of = [](const char* text, const Dims& input) {
        return refused([&] { (void)output_size(parse_layer(text), input); });
    };
    EXPECT_EQ(error_of("c1 o1 k2x2 s2 p0x2", {3, 2}), "output[1] 0");
    EXPECT_EQ(error_of("c1 o1 k2x2 s2 p3", {2, 2}), "output[0] -2");
    EXPECT_EQ(error_of("c1 o1 k3x3 p3", {5, 5}), "");  // one output
    EXPECT_EQ(error_of("c1 o1 k3x3", {5, 5, 5}), "input 5x5x5, 3 values for 2 spatial dimensions");
    EXPECT_EQ(error_of("c1 o1 k3x3", {5, 0}), "input[1] 0");
    EXPECT_EQ(error_of("c1 o1 k3x3", {5, kSmallest}), "input[1] -9223372036854775808");
}

TEST(OutputPadding, ResolvesTheWantedSize) {
    const Layer layer = parse_layer("c3 o4 k3x3 s3x2 p0x1 op1");
    EXPECT_EQ(output_padding_for(layer, {6, 6}, {18, 11}), (Dims{0, 0}));
    EXPECT_EQ(output_padding_for(layer, {6, 6}, {20, 12}), (Dims{2, 1}));
    EXPECT_EQ(refused([&] { (void)output_padding_for(layer, {6, 6}, {21, 12}); }), "output_size[0] 21");
    EXPECT_EQ(refused([&] { (void)output_padding_for(layer, {6, 6}, {18, 10}); }), "output_size[1] 10");
    EXPECT_EQ(refused([&] {
                  (void)output_padding_for(layer, {6, 6}, {18, kLargest});
              }),
              "output_size[1] 9223372036854775807");
    EXPECT_EQ(refused([&] {
                  (void)output_padding_for(layer, {6, 6}, {18});
              }),
              "output_size 18, 1 values for 2 spatial dimensions");
    // A natural size of 0 that output_padding makes 1, and one of -1 that nothing can help.
    EXPECT_EQ(output_padding_for(parse_layer("c1 o1 k2 s2 p2"), {2}, {1}), Dims{1});
    EXPECT_EQ(refused([] { (void)output_padding_for(parse_layer("c1 o1 k2 s2 p2"), {2}, {0}); }), "output_size[0] 0");
    EXPECT_EQ(refused([] { (void)output_padding_for(parse_layer("c1 o1 k2 s1 p2"), {2}, {1}); }), "output_size[0] 1");
}

TEST(Sizes, CountElements) {
    const Layer layer = parse_layer("n2 c8 o12 in6x7 k3x5 g4 f32");
    const Sizes size = sizes(layer, known_shape(layer));
    EXPECT_EQ(size.x, 2 * 8 * 6 * 7);
    EXPECT_EQ(size.w, 8 * 3 * 3 * 5);
    EXPECT_EQ(size.channels, 12);
    EXPECT_EQ(size.y, 2 * 12 * 8 * 11);
    const Sizes none = sizes(layer, {0, {6, 7}});
    EXPECT_EQ(none.x, 0);
    EXPECT_EQ(none.y, 0);
    EXPECT_EQ(none.w, size.w);
}

TEST(Shape, IsValidatedForALayer) {
    const Layer layer = parse_layer("c8 o12 k3x5 p2 f32");
    const auto error_of = [&](const Shape& shape) { return refused([&] { validate(layer, shape); }); };
    EXPECT_EQ(error_of({0, {6, 7}}), "");
    EXPECT_EQ(error_of({-1, {6, 7}}), "batch -1");
    EXPECT_EQ(error_of({1, {6}}), "input 6, 1 values for 2 spatial dimensions");
    EXPECT_EQ(error_of({1, {2, 7}}), "output[0] 0");
    EXPECT_EQ(error_of({kLargest, {6, 7}}), "batch 9223372036854775807");
    Layer broken = layer;
    broken.groups = 5;
    EXPECT_EQ(refused([&] { validate(broken, {1, {6, 7}}); }), "groups 5");
}

TEST(Shape, IsWhatTheLayerKnows) {
    EXPECT_EQ(known_shape(parse_layer("n3 c1 o1 in4 k1")).batch, 3);
    EXPECT_EQ(known_shape(parse_layer("c1 o1 in4 k1")).batch, 1);
    EXPECT_EQ(known_shape(parse_layer("c1 o1 in4 k1")).input, Dims{4});
    EXPECT_EQ(refused([] { (void)known_shape(parse_layer("n3 c1 o1 k1")); }), "in missing");
}

}  // namespace
}  // namespace convt_jit
