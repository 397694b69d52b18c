#include "convt_jit/error.h"
#include "convt_jit/reference.h"
#include "reference/number_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace convt_jit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Compare, MeasuresRelativeL2AndTheWorstElement) {
    const Errors errors = compare({3, 4.5, 0}, {3, 4, 0});
    EXPECT_DOUBLE_EQ(errors.rel_l2, 0.5 / 5);
    EXPECT_DOUBLE_EQ(errors.max_abs, 0.5);
    EXPECT_EQ(errors.worst, 1);
    EXPECT_EQ(errors.wrong_nonfinite, 0);
}

TEST(Compare, EqualTensorsHaveNoError) {
    for (const std::vector<double>& values : {std::vector<double>{}, {0, 0}, {1, kNaN, kInf, -kInf}}) {
        const Errors errors = compare(values, values);
        EXPECT_EQ(errors.rel_l2, 0);
        EXPECT_EQ(errors.max_abs, 0);
        EXPECT_EQ(errors.worst, -1);
    }
}

TEST(Compare, NonFiniteThatDiffersIsInfinitelyWrong) {
    for (const auto& [got, want] : {std::pair{kNaN, 1.0}, {1.0, kNaN}, {kInf, -kInf}, {kInf, kNaN}, {1.0, kInf}}) {
        const Errors errors = compare({2, 1, got}, {1, 1, want});
        EXPECT_EQ(errors.rel_l2, kInf);
        EXPECT_EQ(errors.max_abs, kInf);
        EXPECT_EQ(errors.worst, 2);
        EXPECT_EQ(errors.wrong_nonfinite, 1);
    }
}

TEST(Compare, AnythingForZeroIsInfinitelyWrong) { EXPECT_EQ(compare({1e-30}, {0}).rel_l2, kInf); }

TEST(Compare, AnOverflowOfTheDtypeIsInf) {
    for (const auto& [dtype, largest] :
         {std::pair{DType::f16, 65504.0}, {DType::bf16, 0x1.fep127}, {DType::f32, 0x1.fffffep127}}) {
        SCOPED_TRACE(std::string(to_string(dtype)));
        const auto wrong = [d = dtype](double got, double want) {
            return compare({1, got}, {1, want}, d).wrong_nonfinite;
        };
        for (const double sign : {1.0, -1.0}) {
            EXPECT_EQ(wrong(sign * kInf, sign * 2 * largest), 0);
            EXPECT_EQ(wrong(sign * kInf, sign * 1.001 * largest), 0);
            EXPECT_EQ(wrong(sign * kInf, sign * 0.999 * largest), 0) << "next to the largest number either is right";
            EXPECT_EQ(wrong(sign * largest, sign * 1.001 * largest), 0);
            EXPECT_EQ(wrong(sign * largest, sign * 2 * largest), 1) << "saturated";
            EXPECT_EQ(wrong(sign * kInf, sign * 0.9 * largest), 1) << "overflows too early";
            EXPECT_EQ(wrong(-sign * kInf, sign * 2 * largest), 1);
            EXPECT_EQ(wrong(kNaN, sign * 2 * largest), 1);
            EXPECT_EQ(wrong(sign * kInf, kNaN), 1);
            EXPECT_EQ(wrong(sign * largest, sign * kInf), 1);
        }
    }
    EXPECT_EQ(compare({kInf}, {1e300}).wrong_nonfinite, 1) << "plain numbers overflow nowhere";
}

TEST(Compare, OneStepOfTheSubnormalsIsNoError) {
    for (const auto& [dtype, step] :
         {std::pair{DType::f16, 0x1p-24}, {DType::bf16, 0x1p-133}, {DType::f32, 0x1p-149}}) {
        SCOPED_TRACE(std::string(to_string(dtype)));
        EXPECT_EQ(compare({0}, {0.4 * step}, dtype).rel_l2, 0);
        EXPECT_EQ(compare({step}, {0}, dtype).rel_l2, 0);
        EXPECT_EQ(compare({3 * step}, {2.5 * step}, dtype).rel_l2, 0);
        EXPECT_EQ(compare({3 * step}, {2.5 * step}, dtype).max_abs, 0.5 * step);
        EXPECT_EQ(compare({0}, {8 * step}, dtype).rel_l2, 7.0 / 8);
        EXPECT_EQ(compare({2 * step}, {0}, dtype).rel_l2, kInf);
        EXPECT_EQ(compare({1.5}, {1}, dtype).rel_l2, 0.5) << "normal numbers are judged as ever";
    }
}

TEST(Compare, RefusesOtherSizes) { EXPECT_THROW((void)compare({1}, {1, 2}), LayerError); }

// What a right kernel of each kind makes of random data must pass, with some room, and ten times that must not.
double measured(const Layer& layer, double (*product_rounding)(double)) {
    const Shape shape = known_shape(layer);
    HostTensors tensors = random_tensors(layer, shape, 11);
    const auto want = reference(layer, shape, tensors);
    for (auto* values : {&tensors.x, &tensors.w})
        for (double& value : *values) value = product_rounding(value);
    auto got = reference(layer, shape, tensors);
    for (double& value : got) value = rounded(layer.dtype, value);
    return compare(got, want).rel_l2;
}

double exact(double value) { return value; }
double to_tf32(double value) {
    const double unit = std::ldexp(1.0, std::ilogb(value) - 10);
    return value == 0 ? 0 : std::nearbyint(value / unit) * unit;
}

TEST(Tolerance, IsJustAboveTheRoundingOfEachPrecision) {
    const std::string shape = "n1 c16 o16 in40x40 k3x3 bias ";
    for (const std::string word : {"f16", "bf16", "tf32"}) {
        const Layer layer = parse_layer(shape + word);
        const double error = measured(layer, word == "tf32" ? to_tf32 : exact);
        EXPECT_LT(error, tolerance(layer)) << word;
        EXPECT_GT(error * 5, tolerance(layer)) << word;
    }
}

TEST(Tolerance, GrowsWithTheSquareRootOfAnF32Sum) {
    EXPECT_EQ(tolerance(parse_layer("c1 o1 k3x3 f32")), 2e-7);
    EXPECT_EQ(tolerance(parse_layer("c4096 o1 k3x3 f32")), 1e-6);
    const double middle = tolerance(parse_layer("c64 o1 k4x4 f32"));
    EXPECT_GT(middle, 4e-7);
    EXPECT_LT(tolerance(parse_layer("c64 o1 k4x4 s2 f32")), middle);
    EXPECT_GT(tolerance(parse_layer("c64 o1 k4x4 f32 gelu")), middle);
}

}  // namespace
}  // namespace convt_jit
