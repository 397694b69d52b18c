#include "plan/fold.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>

namespace convt_jit {
namespace {

// Which inputs an output sums, and with which taps, by the definition.
using Products = std::set<std::pair<std::int64_t, std::int64_t>>;  // input, tap
Products products_of(const AxisParameters& axis, std::int64_t output) {
    Products products;
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t at = output + axis.pad - k * axis.dilation;
        if (at >= 0 && at % axis.stride == 0) products.emplace(at / axis.stride, k);
    }
    return products;
}

TEST(Fold, IsTheSameLayer) {
    std::mt19937 random(7);
    const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
    for (int trial = 0; trial < 2000; ++trial) {
        const int fold = draw(1, 8);
        AxisParameters axis;
        axis.stride = fold * draw(1, 4);
        axis.kernel = axis.stride + draw(0, 20);
        axis.pad = draw(0, 25);
        const AxisParameters less = folded(axis, fold);
        EXPECT_EQ(less.stride * fold, axis.stride);
        for (std::int64_t output = 0; output < 40; ++output) {
            const std::int64_t of_folded = (output + skew(axis, fold)) / fold,
                               member = (output + skew(axis, fold)) % fold;
            Products products;
            for (const auto& [input, tap] : products_of(less, of_folded))
                if (tap * fold + member < axis.kernel) products.emplace(input, tap * fold + member);
            EXPECT_EQ(products, products_of(axis, output)) << output;
        }
    }
}

TEST(Fold, RefusalsSayWhy) {
    const auto why = [](const char* text, const Fold& fold) { return fold_refusal(axes_3d(parse_layer(text)), fold); };
    EXPECT_EQ(why("c3 o5 k5x4 s2x4 p1", {2, 4}), "");
    EXPECT_EQ(why("c3 o5 k5x4 s2x4 p1", {1, 2}), "");
    EXPECT_EQ(why("c3 o5 k5 s4", {1, 4}), "");
    EXPECT_EQ(why("c3 o5 k3 d2", {1, 1}), "");
    EXPECT_EQ(why("c3 o5 k5x4 s2x4", {2, 3}), "fold is 3 along width, allowed: divisors of the stride 4");
    EXPECT_EQ(why("c3 o5 k5 s4", {2, 1}), "fold is 2 along height, allowed: divisors of the stride 1");
    EXPECT_EQ(why("c3 o5 k5x4 s2 d1x2", {2, 1}), "");
    EXPECT_EQ(why("c3 o5 k5x4 s2 d1x2", {2, 2}), "fold needs a dilation of 1 along width, not 2");
    EXPECT_EQ(why("c3 o5 k2x4 s3x2", {1, 2}), "");
    EXPECT_EQ(why("c3 o5 k2x4 s3x2", {3, 2}), "fold needs a kernel of at least the stride along height, not 2 of 3");
}

}  // namespace
}  // namespace convt_jit
