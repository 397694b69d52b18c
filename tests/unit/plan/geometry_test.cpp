#include "plan/geometry.h"

#include "convt_jit/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace convt_jit {
namespace {

const Arch kHopper{90, 0};

TEST(Geometry, CoversTheOutput) {
    const Layer layer = parse_layer("n3 c8 o20 in10x100 k3x3 s2x2");
    const Plan plan = choose(layer, kHopper, {"direct positions=1x4x32 per_thread=4 channels=4 vectors=2", false});
    const Geometry g = geometry(layer, plan, known_shape(layer));
    // Output 21x201: 11x101 positions, tiles of 4x32; 20 channels in blocks of 8.
    EXPECT_EQ(g.grid.x, 3 * 4);
    EXPECT_EQ(g.grid.y, 3);
    EXPECT_EQ(g.grid.z, 3);
}

// A grid that goes around its tiles is no larger than the GPU, and keeps to whole sets of resident weights.
TEST(Geometry, OfTilesInTurnFitsTheGpu) {
    const Layer layer = parse_layer("n8 c64 o128 in256x256 k3x3 s2 p1 f16");
    const auto blocks = [&](const char* resident, int multiprocessors) {
        const Plan plan = choose(
            layer, {90, 'a'},
            {std::string("implicit_gemm_sm90 positions=2x64 groups_m=1 groups_n=2 teams=1 loaders=1 chunk=16 stages=3 "
                         "min_blocks=1 processors=132 fold=1 storers=0 apart=0 images=1 resident=") +
                 resident,
             false});
        return geometry(layer, plan, known_shape(layer), multiprocessors).grid.x;
    };
    EXPECT_EQ(blocks("0", 200), 132);
    EXPECT_EQ(blocks("0", 114), 114);
    EXPECT_EQ(blocks("1", 114), 112) << "four sets: two blocks of channels, two row phases";
    EXPECT_EQ(blocks("1", 3), 4);
    const Plan plan = choose(layer, kHopper, {"direct", false});
    EXPECT_EQ(geometry(layer, plan, known_shape(layer), 1).grid.x, geometry(layer, plan, known_shape(layer)).grid.x);
}

TEST(Geometry, LaunchesHoldAWholeGridOnce) {
    std::vector<GridPart> parts;
    const auto keep = [&](const GridPart& part) { parts.push_back(part); };
    for_each_part({7, 3, 65535}, keep);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].first, (std::array<std::int64_t, 3>{0, 0, 0}));
    EXPECT_EQ(parts[0].blocks, (std::array<std::uint32_t, 3>{7, 3, 65535}));
    parts.clear();
    const Grid large{(std::int64_t{1} << 31) + 5, 65536, 131071};
    for_each_part(large, keep);
    EXPECT_EQ(parts.size(), 2u * 2u * 3u);
    std::array<std::int64_t, 3> end = {0, 0, 0};
    std::int64_t blocks = 0;
    for (const GridPart& part : parts) {
        EXPECT_LE(part.blocks[0], 0x7fffffffu);
        EXPECT_LE(part.blocks[1], 65535u);
        EXPECT_LE(part.blocks[2], 65535u);
        for (std::size_t axis = 0; axis < 3; ++axis)
            end[axis] = std::max(end[axis], part.first[axis] + part.blocks[axis]);
        blocks += std::int64_t{part.blocks[0]} * part.blocks[1] * part.blocks[2];
    }
    EXPECT_EQ(end, (std::array<std::int64_t, 3>{large.x, large.y, large.z}));
    EXPECT_EQ(blocks, large.x * large.y * large.z);
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
