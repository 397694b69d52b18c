#include "cache/eviction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace convt_jit;
using namespace std::chrono_literals;

namespace {

constexpr Stamp kSecond = 1'000'000'000;
constexpr Stamp kNow = 1'700'000'000 * kSecond;

Candidate used(const std::string& key, std::int64_t seconds_ago, std::uint64_t bytes = 100, bool in_use = false) {
    return {key, "sm_90a", bytes, kNow - seconds_ago * kSecond, in_use};
}

TrimRule rule(std::uint64_t max, std::uint64_t target) { return {max, target, 60s, kNow}; }

}  // namespace

TEST(Eviction, NothingGoesWhileAllFits) {
    EXPECT_EQ(trim_verdicts({used("a", 9000), used("b", 1)}, rule(200, 0)),
              (std::vector{Verdict::keep_fits, Verdict::keep_fits}));
    EXPECT_TRUE(trim_verdicts({}, rule(0, 0)).empty());
}

TEST(Eviction, TheLeastRecentlyUsedGoUntilTheTargetIsReached) {
    EXPECT_EQ(trim_verdicts({used("a", 100), used("b", 300), used("c", 200), used("d", 150)}, rule(399, 250)),
              (std::vector{Verdict::keep_fits, Verdict::evict_over_cap, Verdict::evict_over_cap, Verdict::keep_fits}));
}

TEST(Eviction, WhatALiveProcessUsesStays) {
    EXPECT_EQ(trim_verdicts({used("a", 300, 100, true), used("b", 200), used("c", 100)}, rule(250, 200)),
              (std::vector{Verdict::keep_in_use, Verdict::evict_over_cap, Verdict::keep_fits}));
    EXPECT_EQ(trim_verdicts({used("a", 300, 100, true)}, rule(0, 0)), std::vector{Verdict::keep_in_use});
}

TEST(Eviction, WhatIsNewStays) {
    EXPECT_EQ(trim_verdicts({used("a", 59), used("b", 61)}, rule(0, 0)),
              (std::vector{Verdict::keep_recent, Verdict::evict_over_cap}));
}

TEST(Eviction, AClockThatWasSetBackLeavesOnlyTheOrder) {
    TrimRule back = rule(100, 100);
    back.time = {kNow - 1000 * kSecond, kNow};
    EXPECT_EQ(trim_verdicts({used("a", 0), used("b", 5)}, back),
              (std::vector{Verdict::keep_fits, Verdict::evict_over_cap}));
}

TEST(Eviction, EqualStampsGoInTheOrderOfKeys) {
    EXPECT_EQ(trim_verdicts({used("b", 100), used("a", 100)}, rule(150, 150)),
              (std::vector{Verdict::keep_fits, Verdict::evict_over_cap}));
}

TEST(Eviction, HoldsItsPromisesForRandomCaches) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        std::vector<Candidate> all;
        for (auto i = random() % 40; i > 0; --i)
            all.push_back(used(std::to_string(i), random() % 500, random() % 1000, random() % 5 == 0));
        const TrimRule some = rule(random() % 20000, random() % 10000);
        const auto verdicts = trim_verdicts(all, some);
        ASSERT_EQ(verdicts.size(), all.size());
        std::uint64_t total = 0, left = 0, left_of_others = 0;  // those that do not exceed the cap alone
        Stamp newest_evicted = 0, oldest_free_kept = kNow + 1;
        for (std::size_t i = 0; i < all.size(); ++i) {
            total += all[i].bytes;
            left += evicts(verdicts[i]) ? 0 : all[i].bytes;
            EXPECT_FALSE(evicts(verdicts[i]) && (all[i].in_use || kNow - all[i].used < 60 * kSecond));
            const bool exceeds = all[i].bytes > some.max_bytes;
            left_of_others += evicts(verdicts[i]) || exceeds ? 0 : all[i].bytes;
            if (evicts(verdicts[i]) && !exceeds) newest_evicted = std::max(newest_evicted, all[i].used);
            if (verdicts[i] == Verdict::keep_fits) oldest_free_kept = std::min(oldest_free_kept, all[i].used);
        }
        EXPECT_LE(newest_evicted, oldest_free_kept) << "seed 7, round " << round;
        EXPECT_TRUE(total > some.max_bytes || left == total);
        const bool still_too_much = left_of_others > std::max(some.max_bytes, some.target_bytes);
        EXPECT_FALSE(still_too_much && std::count(verdicts.begin(), verdicts.end(), Verdict::keep_fits) > 0);
    }
}

TEST(Eviction, PruningTakesArchsAndAges) {
    std::vector<Candidate> all{used("a", 10), used("b", 1000), used("c", 1000), used("d", 1000, 100, true)};
    all[2].arch = "sm_80";
    EXPECT_EQ(
        prune_verdicts(all, {{"sm_90a"}, 500s, kNow}),
        (std::vector{Verdict::keep_young, Verdict::evict_pruned, Verdict::keep_other_arch, Verdict::keep_in_use}));
    EXPECT_EQ(prune_verdicts(all, {{}, 0s, kNow})[0], Verdict::evict_pruned);
    const std::vector<Candidate> archs = {{"a", "sm_90", 1, 0, false}, {"b", "sm_90a", 1, 0, false}};
    EXPECT_EQ(prune_verdicts(archs, {{"sm_90a"}, 0s, kNow}),
              (std::vector{Verdict::evict_pruned, Verdict::evict_pruned}));
    EXPECT_EQ(prune_verdicts(archs, {{"sm_90"}, 0s, kNow}),
              (std::vector{Verdict::evict_pruned, Verdict::keep_other_arch}));
}

TEST(Eviction, WhatMayBeInUseStays) {
    const std::vector<Candidate> all{used("a", 9000), used("b", 9000, 100, true), used("c", 1)};
    TrimRule unknown = rule(0, 0);
    unknown.holders_known = false;
    using enum Verdict;
    EXPECT_EQ(trim_verdicts(all, unknown), (std::vector{keep_unknown, keep_in_use, keep_recent}));
    EXPECT_EQ(prune_verdicts(all, {{}, 500s, kNow, false}), (std::vector{keep_unknown, keep_in_use, keep_young}));
    unknown.max_bytes = 300;
    EXPECT_EQ(trim_verdicts(all, unknown)[0], keep_fits) << "nothing had to go";
}

TEST(Eviction, AStampAheadMakesNoOtherOld) {
    const auto verdicts = [](std::int64_t ahead) {
        std::vector<Candidate> all{used("young", 100), used("old", 1000), used("ahead", 0)};
        all[2].used = ahead;
        return prune_verdicts(all, {{}, 500s, kNow});
    };
    using enum Verdict;
    for (const std::int64_t ahead : {kNow + 1, kNow + 1000 * kSecond, std::int64_t{INT64_MAX}})
        EXPECT_EQ(verdicts(ahead), (std::vector{keep_young, evict_pruned, keep_young}));
    EXPECT_EQ(verdicts(0), (std::vector{keep_young, evict_pruned, evict_pruned}));
}

TEST(Eviction, EveryVerdictHasAName) {
    for (const auto verdict :
         {Verdict::keep_fits, Verdict::keep_in_use, Verdict::keep_unknown, Verdict::keep_recent,
          Verdict::keep_other_arch, Verdict::keep_young, Verdict::evict_over_cap, Verdict::evict_pruned})
        EXPECT_FALSE(to_string(verdict).empty());
}

TEST(Eviction, WhatAloneExceedsTheCapMakesNoOtherGo) {
    const auto candidate = [](const char* key, std::uint64_t bytes, Stamp used, bool in_use) {
        return Candidate{key, {}, bytes, used, in_use};
    };
    TrimRule rule;
    rule.max_bytes = 100;
    rule.target_bytes = 90;
    rule.time.wall = 1'000'000'000'000;
    const auto verdicts = [&](Stamp used, bool in_use) {
        return trim_verdicts({candidate("a", 40, 1, false), candidate("b", 40, 2, false),
                              candidate("huge", std::uint64_t{1} << 40, used, in_use)},
                             rule);
    };
    using enum Verdict;
    EXPECT_EQ(verdicts(3, false), (std::vector{keep_fits, keep_fits, evict_over_cap}));
    EXPECT_EQ(verdicts(3, true), (std::vector{keep_fits, keep_fits, keep_in_use}));
    EXPECT_EQ(verdicts(rule.time.wall, false), (std::vector{keep_fits, keep_fits, keep_recent}));
}
