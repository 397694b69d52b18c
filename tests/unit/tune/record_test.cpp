#include "tune/record.h"

#include "unit/tune/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace convt_jit {
namespace {

using sample::evidence;

TEST(Evidence, WhatDecides) {
    const TuningEvidence base = evidence();
    const auto better = [&](const std::function<void(TuningEvidence&)>& change) {
        TuningEvidence other = base;
        change(other);
        EXPECT_NE(is_better(other, base), is_better(base, other));
        return is_better(other, base);
    };
    EXPECT_FALSE(is_better(base, base));
    EXPECT_FALSE(better([](auto& e) { e.weights = MeasuredWeights::changing, e.ms = 0.1; })) << "inference first";
    EXPECT_TRUE(better([](auto& e) { e.library = "0.10.0", e.ms = 9; }))
        << "code that is no longer there is no evidence";
    EXPECT_FALSE(better([](auto& e) { e.library = "", e.ms = 0.1; }));
    EXPECT_TRUE(better([](auto& e) { e.ms = 0.9; }));
    EXPECT_TRUE(better([](auto& e) { e.ms = 4, e.speed_of_light_ms = 3; })) << "larger sizes take longer";
    EXPECT_FALSE(better([](auto& e) { e.speed_of_light_ms = 0, e.ms = 0.1; })) << "nobody knows what that is worth";
    EXPECT_TRUE(better([](auto& e) { e.date = "2026-01-31T12:00:00Z"; }));
    EXPECT_FALSE(better([](auto& e) { e.date = ""; }));
    better([](auto& e) { e.input = {64, 65}; });
    better([](auto& e) { e.extra = "{}"; });
}

TEST(Evidence, AStrictOrder) {
    std::mt19937 random(1);
    std::vector<TuningEvidence> all;
    while (all.size() < 40)
        for (const TuningRecord& r : sample::random_records(random))
            all.insert(all.end(), r.evidence.begin(), r.evidence.end());
    for (const auto& a : all)
        for (const auto& b : all) {
            EXPECT_EQ(!is_better(a, b) && !is_better(b, a), a == b);
            for (const auto& c : all) EXPECT_TRUE(!is_better(a, b) || !is_better(b, c) || is_better(a, c));
        }
}

TEST(Merge, AssociativeCommutativeIdempotentLossless) {
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
        const auto a = sample::random_records(random), b = sample::random_records(random),
                   c = sample::random_records(random);
        const auto ab = merge_records(a, b);
        EXPECT_EQ(ab, merge_records(b, a));
        EXPECT_EQ(merge_records(ab, c), merge_records(a, merge_records(b, c)));
        EXPECT_EQ(merge_records(ab, ab), ab);
        EXPECT_EQ(merge_records(ab, a), ab);
        for (const auto* side : {&a, &b})
            for (const TuningRecord& record : *side) {
                const auto same = std::find_if(ab.begin(), ab.end(),
                                               [&](const TuningRecord& r) { return key_of(r) == key_of(record); });
                ASSERT_NE(same, ab.end());
                for (const TuningEvidence& e : record.evidence)
                    EXPECT_EQ(std::count(same->evidence.begin(), same->evidence.end(), e), 1);
            }
        for (const TuningRecord& record : ab)
            EXPECT_TRUE(std::is_sorted(record.evidence.begin(), record.evidence.end(), is_better));
    }
}

}  // namespace
}  // namespace convt_jit
