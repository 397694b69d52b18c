#include "plan/direct.h"

#include "layer/phases.h"
#include "plan/plan.h"
#include "plan/volume.h"

#include <gtest/gtest.h>

#include <random>

namespace convt_jit {
namespace {

Layer random_layer(std::mt19937& random) {
    const auto pick = [&](std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    const int rank = static_cast<int>(pick(1, 3));
    Layer layer = Layer::make(1, 1, Dims::filled(rank, 1));
    layer.groups = pick(1, 8);
    layer.in_channels = layer.groups * pick(1, 300);
    layer.out_channels = layer.groups * pick(1, 300);
    for (int a = 0; a < rank; ++a) {
        layer.kernel[a] = pick(1, rank == 1 ? 5000 : rank == 2 ? 90 : 12);
        layer.stride[a] = pick(1, rank == 1 ? 1500 : 20);
        layer.dilation[a] = pick(0, 9) == 0 ? pick(1000, 100000) : pick(1, 8);
        layer.pad_begin[a] = pick(0, 10);
    }
    if (pick(0, 1) == 1) layer.layout = Layout::channels_last;
    return layer;
}

TEST(Direct, HasADefaultTileForEveryLayer) {
    std::mt19937 random(20261128);
    for (int i = 0; i < 3000; ++i) {
        const Layer layer = random_layer(random);
        for (const int arch : {75, 80, 89, 90, 100, 120}) {
            const DirectTile tile = DirectTile::standard(layer, {arch, 0});
            EXPECT_EQ(tile.unsupported(layer, {arch, 0}, false), "") << to_string(layer) << " on " << arch;
            EXPECT_GE(tile.threads(layer), 1);
            EXPECT_LE(tile.threads(layer), 512) << to_string(layer);
            EXPECT_EQ(DirectTile::generic().unsupported(layer, {arch, 0}, false), "") << to_string(layer);
        }
    }
}

TEST(Direct, KnownSmallImagesGetSmallTiles) {
    const DirectTile tile = DirectTile::standard(parse_layer("c100 o512 in1x1 k4x4"), {90, 0});
    EXPECT_LE(tile.block_positions(), 32) << "a 4x4 output has 16 positions";
}

TEST(Direct, SharedMemoryCountsWhatIsStaged) {
    const Layer layer = parse_layer("c32 o64 k3x5 s2x3 p1x2 d2x1 g4");
    DirectTile tile = DirectTile::standard(layer, {90, 0});
    const std::size_t both = tile.shared_bytes(layer);
    tile.stage_input = false;
    const std::size_t without_input = tile.shared_bytes(layer);
    EXPECT_LT(without_input, both);
    tile.stage_weights = false;
    EXPECT_LT(tile.shared_bytes(layer), without_input);
}

TEST(Volume, HaloIsThatOfThePhases) {
    std::mt19937 random(7);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    for (int i = 0; i < 2000; ++i) {
        const AxisParameters axis{pick(1, 20), pick(1, 12), pick(1, 9), pick(0, 40)};
        const AxisPhases phases = axis_phases(axis.kernel, axis.stride, axis.pad, axis.dilation);
        EXPECT_EQ(halo(axis).lowest, phases.lowest_offset);
        EXPECT_EQ(halo(axis).highest, phases.highest_offset);
    }
}

}  // namespace
}  // namespace convt_jit
