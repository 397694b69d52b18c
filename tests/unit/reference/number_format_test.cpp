#include "reference/number_format.h"

#include "convt_jit/error.h"
#include "convt_jit/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace convt_jit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(NumberFormat, EveryF16ReadsBackAsItself) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const double value = from_f16(static_cast<std::uint16_t>(bits));
        if (std::isnan(value))
            EXPECT_EQ(to_f16(value) & 0x7e00, 0x7e00);
        else
            ASSERT_EQ(to_f16(value), bits);
    }
}

TEST(NumberFormat, EveryBf16ReadsBackAsItself) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const double value = from_bf16(static_cast<std::uint16_t>(bits));
        if (std::isnan(value))
            EXPECT_EQ(to_bf16(value) & 0x7fc0, 0x7fc0);
        else
            ASSERT_EQ(to_bf16(value), bits);
    }
}

// Between each two neighbours: the middle goes to the even one, anything off it to the nearer one.
template <class To, class From>
void check_rounding(To to, From from, std::uint16_t inf) {
    for (std::uint16_t low = 0; low + 1 < inf; ++low) {
        const auto high = static_cast<std::uint16_t>(low + 1);
        const double middle = (from(low) + from(high)) / 2;
        const std::uint16_t even = low % 2 == 0 ? low : high;
        ASSERT_EQ(to(middle), even) << low;
        ASSERT_EQ(to(std::nextafter(middle, 0)), low) << low;
        ASSERT_EQ(to(std::nextafter(middle, kInf)), high) << low;
        ASSERT_EQ(to(-middle), even | 0x8000) << low;
    }
}

TEST(NumberFormat, F16RoundsToNearestEven) { check_rounding(to_f16, from_f16, 0x7c00); }
TEST(NumberFormat, Bf16RoundsToNearestEven) { check_rounding(to_bf16, from_bf16, 0x7f80); }

TEST(NumberFormat, OverflowsToInf) {
    EXPECT_EQ(to_f16(65519.999), 0x7bff);
    EXPECT_EQ(to_f16(65520), 0x7c00);
    EXPECT_EQ(to_f16(-1e300), 0xfc00);
    EXPECT_EQ(to_bf16(1e39), 0x7f80);
    EXPECT_EQ(to_bf16(3.4e38), 0x7f80);  // f32 holds it, bf16 does not
    EXPECT_EQ(to_f16(kInf), 0x7c00);
    EXPECT_EQ(to_bf16(-kInf), 0xff80);
    EXPECT_TRUE(std::isnan(from_f16(to_f16(kNaN))));
    EXPECT_TRUE(std::isnan(from_bf16(to_bf16(-kNaN))));
}

TEST(NumberFormat, KeepsSubnormalsAndSignsOfZero) {
    EXPECT_EQ(to_f16(0x1p-24), 1);
    EXPECT_EQ(to_f16(0x1p-25), 0);  // half way, to even
    EXPECT_EQ(to_f16(0x1.000001p-25), 1);
    EXPECT_EQ(to_f16(5e-324), 0);
    EXPECT_EQ(to_bf16(0x1p-133), 1);
    EXPECT_EQ(to_f16(-0.0), 0x8000);
}

TEST(NumberFormat, RoundsOnce) {
    // By way of f32 this would first become a half-way case and then go down to even.
    const double value = 1 + 0x1p-11 + 0x1p-40;
    EXPECT_EQ(to_f16(value), 0x3c01);
    EXPECT_EQ(to_f16(static_cast<float>(value)), 0x3c00);
}

TEST(NumberFormat, EncodesAndDecodesElements) {
    const std::vector<double> values = {0, -1.5, 0.1, kInf, 0x1p-140};
    EXPECT_EQ(encode(DType::f32, values).size(), 20U);
    EXPECT_EQ(encode(DType::bf16, values).size(), 10U);
    EXPECT_EQ(decode(DType::f32, encode(DType::f32, values)),
              (std::vector<double>{0, -1.5, static_cast<double>(0.1F), kInf, 0x1p-140}));
    EXPECT_EQ(decode(DType::f16, encode(DType::f16, values)), (std::vector<double>{0, -1.5, 0.0999755859375, kInf, 0}));
    EXPECT_EQ(decode(DType::bf16, {}), std::vector<double>{});
    EXPECT_THROW((void)decode(DType::f16, {1, 2, 3}), LayerError);
    EXPECT_EQ(rounded(DType::f16, 0.1), 0.0999755859375);
}

}  // namespace
}  // namespace convt_jit
