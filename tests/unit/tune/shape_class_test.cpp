#include "tune/shape_class.h"

#include "convt_jit/error.h"
#include "convt_jit/tuning.h"

#include <gtest/gtest.h>

#include <set>

namespace convt_jit {
namespace {

std::string of(const std::string& text) { return shape_class(parse_layer(text)); }

TEST(ShapeClass, OfSizes) {
    EXPECT_EQ(of("n1 c8 o8 in64x64 k2x2 s2 f32"), "positions=4096 columns=64 rows=32 aligned=1");
    EXPECT_EQ(of("n64 c8 o8 in64x64 k2x2 s2 f32"), "positions=262144 columns=64 rows=32 aligned=1");
    EXPECT_EQ(of("n1 c8 o8 in7x5 k1x1 f32"), "positions=16 columns=8 rows=8 aligned=0");
    EXPECT_EQ(of("n1 c8 o8 in7x5 k1x1 f32 nhwc"), "positions=16 columns=8 rows=8 aligned=1") << "a row has channels";
    EXPECT_EQ(of("n2 c8 o8 in4x16x129 k1x1x1 f32"), "positions=16384 columns=256 rows=16 aligned=0");
    EXPECT_EQ(of("n1 c8 o8 in1000 k4 s4 f16"), "positions=256 columns=256 rows=1 aligned=1");
    EXPECT_EQ(of("n0 c8 o8 in4x4 k1x1 f32"), "positions=1 columns=4 rows=4 aligned=1") << "an empty batch is work, too";
    EXPECT_EQ(of("c8 o8 in4x4 k1x1 f32"), "positions=any columns=4 rows=4 aligned=1");
    EXPECT_EQ(of("n8 c8 o8 k1x1 f32"), "any");
    EXPECT_THROW((void)of("n1 c8 o8 in1 k1 p5 f32"), LayerError);
}

TEST(ShapeClass, AVocoderHasFew) {
    Layer layer = parse_layer("n1 c256 o128 in100 k16 s8 p4 f32");
    std::set<std::string> classes;
    for (std::int64_t frames = 50; frames <= 5000; ++frames) {  // of half a second to a minute
        layer.input = {frames};
        classes.insert(shape_class(layer));
    }
    EXPECT_LE(classes.size(), 7u) << *classes.begin();
}

TEST(ShapeClass, TextAndBack) {
    for (const char* text :
         {"any", "positions=any columns=4 rows=1 aligned=0", "positions=1 columns=1 rows=1 aligned=1",
          "positions=4611686018427387904 columns=256 rows=32 aligned=1"}) {
        std::optional<ShapeClass> shape;
        ASSERT_TRUE(parse_shape_class(text, shape)) << text;
        EXPECT_EQ(to_string(shape), text);
    }
    for (const char* text :
         {"", "many", "any ", "positions=3 columns=4 rows=1 aligned=0", "positions=8 columns=4 rows=1 aligned=0",
          "positions=4 columns=512 rows=1 aligned=0", "positions=4 columns=4 rows=64 aligned=0",
          "positions=4 columns=4 rows=1 aligned=2", "positions=4 columns=4 rows=1",
          "positions=-4 columns=4 rows=1 aligned=0", "positions=4 columns=4 rows=1 aligned=0 depth=1",
          "positions=99999999999999999999 columns=4 rows=1 aligned=0"}) {
        std::optional<ShapeClass> shape;
        EXPECT_FALSE(parse_shape_class(text, shape)) << text;
    }
}

TEST(ShapeClass, Distance) {
    const auto apart = [](const char* a, const char* b) {
        std::optional<ShapeClass> left, right;
        EXPECT_TRUE(parse_shape_class(a, left) && parse_shape_class(b, right));
        EXPECT_EQ(distance(left, right).has_value(), distance(right, left).has_value());
        return distance(left, right).value_or(-1);
    };
    constexpr const char* kHere = "positions=256 columns=16 rows=16 aligned=1";
    EXPECT_EQ(apart(kHere, kHere), 0);
    EXPECT_EQ(apart(kHere, "positions=1024 columns=16 rows=16 aligned=1"), 2);
    EXPECT_EQ(apart(kHere, "positions=4096 columns=16 rows=16 aligned=1"), kFarthest);
    EXPECT_EQ(apart(kHere, "positions=16384 columns=16 rows=16 aligned=1"), -1);
    EXPECT_EQ(apart(kHere, "positions=256 columns=32 rows=8 aligned=0"), 3);
    EXPECT_EQ(apart(kHere, "positions=any columns=16 rows=16 aligned=1"), 2);
    EXPECT_EQ(apart(kHere, "any"), kUnknown);
    EXPECT_EQ(apart("any", "any"), 0);
}

}  // namespace
}  // namespace convt_jit
