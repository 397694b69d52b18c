#include "bench/roofline.h"

#include "subject/check.h"

#include <gtest/gtest.h>

namespace convt_jit::tools {
namespace {

TEST(Roofline, CountsProductsAndBytes) {
    const Layer layer = parse_layer("n2 c4 o6 in5x7 k3x2 s2 g2 bias f16");
    const Shape shape = known_shape(layer);
    EXPECT_EQ(products(layer, shape), 2.0 * 4 * (6 / 2) * (5 * 7) * (3 * 2));
    // y is 11 x 14: (5 - 1)*2 + 3 and (7 - 1)*2 + 2.
    const double x = 2 * 4 * 5 * 7, w = 4 * 3 * 3 * 2, y = 2 * 6 * 11 * 14;
    EXPECT_EQ(needed_bytes(layer, shape), 2 * (x + w + y + 6));
}

TEST(Roofline, CountsWhatTheEpilogueReads) {
    const Layer plain = parse_layer("n1 c1 o3 in4 k1 f16"), whole = parse_layer("n1 c1 o3 in4 k1 f16 affine residual");
    const Shape shape = known_shape(plain);
    EXPECT_EQ(needed_bytes(whole, shape) - needed_bytes(plain, shape), 3 * 4 * 2 + 2 * 3 * 4);
}

TEST(Roofline, IsTheLargerOfBytesAndOperations) {
    const Layer layer = parse_layer("n1 c64 o64 in1000 k1 f32");
    const Shape shape = known_shape(layer);
    const double bytes = needed_bytes(layer, shape), operations = 2 * products(layer, shape);
    const Rates rates{.ieee = 1, .tf32 = 2, .f16 = 3, .bf16 = 4};
    EXPECT_DOUBLE_EQ(speed_of_light_ms(layer, shape, 1e3, rates), bytes);
    EXPECT_DOUBLE_EQ(speed_of_light_ms(layer, shape, 1e18, rates), operations / 1e12 * 1e3);
    EXPECT_DOUBLE_EQ(speed_of_light_ms(layer, shape, 1e18, std::nullopt), bytes / 1e18 * 1e3);
}

TEST(Roofline, TakesTheRateOfThePrecision) {
    const Rates rates{.ieee = 1, .tf32 = 2, .f16 = 3, .bf16 = 4};
    const auto relative = [&](const char* word) {
        const Layer layer = parse_layer(std::string("n1 c64 o64 in1000 k1 ") + word);
        const Shape shape = known_shape(layer);
        return 2 * products(layer, shape) / 1e12 * 1e3 / speed_of_light_ms(layer, shape, 1e18, rates);
    };
    EXPECT_DOUBLE_EQ(relative("f32"), 1);
    EXPECT_DOUBLE_EQ(relative("tf32"), 2);
    EXPECT_DOUBLE_EQ(relative("f16"), 3);
    EXPECT_DOUBLE_EQ(relative("bf16"), 4);
}

TEST(Roofline, KnowsOnlyCardsThatWereMeasured) {
    EXPECT_TRUE(measured_rates("NVIDIA H100 80GB HBM3"));
    EXPECT_FALSE(measured_rates("NVIDIA H100 PCIe"));
    EXPECT_FALSE(measured_rates(""));
}

}  // namespace
}  // namespace convt_jit::tools
