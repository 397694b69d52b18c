#include "cache/explanation.h"

#include <gtest/gtest.h>

#include <utility>

using namespace convt_jit;

namespace {

CacheWanted wanted(const std::string& layer) {
    return {
        {"source of " + layer, "-O3", "sm_90", "nvrtc 13.0.88", 1}, layer, "direct positions=2 per_thread=4", "0.1.0"};
}

CacheEntry entry(const std::string& layer, double last_used = 0) {
    CacheEntry entry;
    const CacheWanted same = wanted(layer);
    entry.readable = true;
    entry.fields = same.fields;
    entry.layer = same.layer;
    entry.plan = same.plan;
    entry.library = same.library;
    entry.last_used = last_used;
    return entry;
}

}  // namespace

TEST(Explanation, TheNearestIsTheOneOfTheNearestLayer) {
    const CacheWanted want = wanted("c32 o64 k3x3 s2x2 f32 relu");
    EXPECT_EQ(nearest(want, {}), 0u);
    // Used last, and as many fields of the key differ.
    const std::vector<CacheEntry> entries = {entry("c1 o1 k5 bf16", 9), entry("c32 o64 k3x3 s2x2 f32 tanh", 1),
                                             entry("c32 o32 k3x3 s1x1 f32 relu", 5)};
    EXPECT_EQ(nearest(want, entries), 1u);
    EXPECT_EQ(nearest(want, {entries[0], entries[2]}), 1u);
    CacheEntry unreadable;
    EXPECT_EQ(nearest(want, {unreadable}), 1u);
    EXPECT_EQ(nearest(want, {unreadable, entries[0]}), 1u);
}

TEST(Explanation, FieldsOfTheLayerComeBeforeAllOthers) {
    const CacheWanted want = wanted("c32 o64 k3x3 f32");
    CacheEntry same_layer = entry("c32 o64 k3x3 f32");
    same_layer.fields = {"another source", "-O2", "sm_80", "nvrtc 12.1.7", 1};
    same_layer.plan = "unrolled";
    same_layer.library = "0.0.9";
    EXPECT_TRUE(is_nearer(want, same_layer, entry("c32 o64 k3x3 f16", 5)));
    EXPECT_FALSE(is_nearer(want, entry("c32 o64 k3x3 f16", 5), same_layer));
    // One word more is as far as another word.
    EXPECT_TRUE(is_nearer(want, entry("c32 o64 k3x3 f32 bias"), entry("c32 o32 k3x3 f32 bias")));
}

TEST(Explanation, ThenTheFewestDifferencesThenThePlanThenTheLastUse) {
    const CacheWanted want = wanted("c32 o64 k3x3 f32");
    CacheEntry other_arch = entry(want.layer), other_both = entry(want.layer, 5);
    other_arch.fields.arch = other_both.fields.arch = "sm_80";
    other_both.fields.options = "-O2";
    EXPECT_TRUE(is_nearer(want, other_arch, other_both));
    CacheEntry near_plan = entry(want.layer), far_plan = entry(want.layer, 5);
    near_plan.fields.source = far_plan.fields.source = "another source";
    near_plan.plan = "direct positions=2 per_thread=8";
    far_plan.plan = "direct positions=4 per_thread=8";
    EXPECT_TRUE(is_nearer(want, near_plan, far_plan));
    EXPECT_TRUE(is_nearer(want, entry(want.layer, 5), entry(want.layer, 1)));
    EXPECT_FALSE(is_nearer(want, entry(want.layer), entry(want.layer)));
}

TEST(Explanation, TheSameSourceIsTheSameKernelWhateverItsLayer) {
    const CacheWanted want = wanted("n4 c32 o64 k3x3 f32");
    CacheEntry same = entry("c32 o64 in9x9 k3x3 f32");
    same.fields.source = want.fields.source;
    same.fields.producer = "nvrtc 12.1.7";
    EXPECT_TRUE(is_nearer(want, same, entry("n4 c32 o64 k3x3 f16", 5)));
    ASSERT_EQ(differences(want, same).size(), 1u);
    EXPECT_EQ(differences(want, same)[0].field, "producer");
}
