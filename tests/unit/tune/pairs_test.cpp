#include "tune/pairs.h"

#include "tune/neighbours.h"

#include <gtest/gtest.h>

#include <cmath>

namespace convt_jit {
namespace {

TEST(Pairs, Medians) {
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
    EXPECT_EQ(spread({1, 1, 1}), 0);
}

TEST(Pairs, ADriftThatBothHaveCancels) {
    std::vector<double> ours, theirs;
    for (int i = 0; i < 9; ++i) {
        ours.push_back(0.9 * (1 + 0.1 * i));
        theirs.push_back(1 + 0.1 * i);
    }
    const Comparison gain = compare_pairs(ours, theirs);
    EXPECT_NEAR(gain.log_ratio, std::log(0.9), 1e-9);
    EXPECT_NEAR(gain.noise, 0, 1e-9);
}

TEST(Pairs, NoiseFallsWithTheirNumber) {
    const std::vector<double> few = {0.9, 1, 1.1};
    std::vector<double> many;
    for (int i = 0; i < 12; ++i) many.insert(many.end(), few.begin(), few.end());
    const auto noise = [](const std::vector<double>& ms) {
        return compare_pairs(ms, std::vector<double>(ms.size(), 1)).noise;
    };
    EXPECT_GT(noise(few), 3 * noise(many));
    EXPECT_GT(noise(many), 0);
}

TEST(Neighbours, DifferInAFewWordsOfOneFamily) {
    const auto at = [](const char* text) { return plan_words(text); };
    EXPECT_EQ(plan_distance(at("direct a=1 b=2"), at("direct a=1 b=2")), 0);
    EXPECT_EQ(plan_distance(at("direct a=1 b=2"), at("direct  a=2 b=2")), 1);
    EXPECT_FALSE(plan_distance(at("direct a=1"), at("gemm a=1")));
    EXPECT_FALSE(plan_distance(at(""), at("")));
}

}  // namespace
}  // namespace convt_jit
