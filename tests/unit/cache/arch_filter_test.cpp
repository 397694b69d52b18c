#include "cache/arch_filter.h"

#include <gtest/gtest.h>

using namespace convt_jit;

TEST(ArchFilter, MeansWhatWarmingForItWouldMake) {
    EXPECT_TRUE(means({}, "sm_90a"));
    EXPECT_TRUE(means({"sm_90a"}, "sm_90a"));
    EXPECT_TRUE(means({"sm_90a"}, "sm_90"));
    EXPECT_TRUE(means({"sm_100f"}, "sm_100"));
    EXPECT_TRUE(means({"sm_80", "sm_90"}, "sm_90"));
    EXPECT_FALSE(means({"sm_90"}, "sm_90a"));
    EXPECT_FALSE(means({"sm_100a"}, "sm_100f"));
    EXPECT_FALSE(means({"sm_90a"}, "sm_80"));
    EXPECT_FALSE(means({"sm_90a"}, "")) << "of which nothing is known";
}
