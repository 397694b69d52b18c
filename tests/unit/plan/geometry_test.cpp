#include "plan/geometry.h"

#include "convt_jit/error.h"

#include <gtest/gtest.h>

namespace convt_jit {
namespace {

const Arch kHopper{90, 0};

TEST(Geometry, CoversTheOutput) {
    const Layer layer = parse_layer("n3 c8 o20 in10x100 k3x3 s2x2");
    const Plan plan = choose(layer, kHopper, {"direct positions=1x4x32 per_thread=4 channels=4 vectors=2", false});
    const Geometry g = geometry(layer, plan, known_shape(layer));
    // Output 21x201: 11x101 positions, tiles of 4x32; 20 channels in blocks of 8.
    EXPECT_EQ(g.grid[0], 3u * 4u);
    EXPECT_EQ(g.grid[1], 3u);
    EXPECT_EQ(g.grid[2], 3u);
}

TEST(Geometry, StaysWithinTheLimitsOfAGrid) {
    const Layer layer = parse_layer("c70000 o70000 g70000 k1");
    const Geometry g = geometry(layer, choose(layer, kHopper), {1 << 20, {1}});
    EXPECT_LE(g.grid[1], 65535u);
    EXPECT_LE(g.grid[2], 65535u);
}

TEST(Geometry, ThirtyTwoBitPlansRefuseWhatTheyCannotIndex) {
    const Layer layer = parse_layer("c1 o1 k1x1");
    const Plan plan = choose(layer, kHopper);
    EXPECT_NO_THROW(check_index_width(layer, plan, {1, {1000, 1000}}));
    try {
        check_index_width(layer, plan, {1, {65536, 65536}});
        FAIL();
    } catch (const LayerError& error) {
        EXPECT_EQ(error.field(), "input");
        EXPECT_EQ(error.value(), "65536x65536");
    }
    EXPECT_NO_THROW(check_index_width(layer, choose(layer, kHopper, {"direct index=64", false}), {1, {65536, 65536}}));
}

}  // namespace
}  // namespace convt_jit
