// The implicit_gemm_sm90 family, on a Hopper GPU or the simulator.

#include "conformance/check.h"
#include "conformance/special_values.h"
#include "conformance/subject.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace convt_jit::test {
namespace {

struct Forced {
    const char* layer;
    const char* tile;
    int steps, stages;  // of a chunk
    bool split = true;  // whether it also has room for the sums of factors that are split
};
void PrintTo(const Forced& forced, std::ostream* out) {
    *out << fmt::format("{} {} steps={} stages={}", forced.layer, forced.tile, forced.steps, forced.stages);
}
constexpr Forced kForced[] = {
    {"n1 c20 o70 in9x40 k3x3 p1 bias", "positions=2x32 groups_m=2 groups_n=1 loaders=2 store_width=4", 1, 3},
    {"n1 c20 o70 in9x40 k3x3 p1 bias", "positions=2x64 groups_m=1 groups_n=2 loaders=1", 2, 2},
    {"n1 c40 o70 in9x40 k3x3 p1 bias", "positions=8x8 groups_m=1 groups_n=1 teams=2 loaders=1 store_width=2", 1, 4},
    {"n3 c33 o48 in7x18 k4x4 s2 p1 bias", "positions=16x8 groups_m=1 groups_n=2 loaders=1 resident=1", 1, 2},
    {"n2 c24 o132 in300 k3 s2 p1 d2", "positions=1x64 groups_m=3 groups_n=1 loaders=1", 1, 4},
    {"n2 c24 o132 in300 k3 s2 p1 d2 bias", "positions=1x64 groups_m=1 groups_n=1 teams=2 loaders=1 resident=1", 1, 3},
    {"n1 c64 o64 in70 k16 s8 p4 bias", "positions=1x16 groups_m=1 groups_n=1 loaders=2", 1, 2},
    {"n1 c16 o24 in5x6x10 k3x5x7 s2 p1x2x3 op1 g2 bias relu", "positions=2x16 groups_m=1 groups_n=2 loaders=1", 1, 2},
    {"n1 c32 o16 in9x17 k2x2 s2 residual affine", "positions=4x16 groups_m=1 groups_n=1 loaders=1 min_blocks=2", 1, 3},
    {"n1 c16 o16 in20x17 k1x1 s3x2 bias", "positions=4x16 groups_m=1 groups_n=2 loaders=1 resident=1", 1, 2},
    {"n1 c16 o16 in20x17 k5x3 d3x2 p2 bias", "positions=4x32 groups_m=1 groups_n=1 loaders=1", 1, 2},
    {"n5 c32 o64 in3x8x8 k5x1x1 d3x1x1 p6x0x0 bias relu", "positions=8x8 groups_m=1 groups_n=1 loaders=1 processors=3",
     1, 3},
    {"n2 c200 o130 in13x19 k3x3 s2 p1 op1 bias gelu", "positions=2x8 groups_m=2 groups_n=1 teams=2 loaders=1", 2, 3},
    // One block or a few, which go around the ring many times and take tiles of all sets of weights in turn.
    {"n3 c40 o70 in9x40 k4x4 s2 p1 bias", "positions=8x8 groups_m=1 groups_n=1 teams=2 loaders=1 processors=1", 1, 3},
    {"n3 c24 o70 in9x41 k3x3 p1 bias", "positions=2x32 groups_m=1 groups_n=2 teams=2 loaders=1 processors=2", 1, 4},
    {"n4 c16 o200 in6x50 k2x3 s2x1 op1x0 g2",
     "positions=2x16 groups_m=1 groups_n=1 teams=2 loaders=1 resident=1 processors=1", 1, 6},
    {"n3 c24 o40 in4x7x21 k2x3x3 s2x2x1 bias silu",
     "positions=4x8 groups_m=1 groups_n=1 loaders=1 resident=1 processors=1", 1, 3},
    // Row phases and depths without taps, next to those that have some.
    {"n2 c16 o20 in3x5x9 k1x2x2 s3x4x3 op1x2x1 bias",
     "positions=2x16 groups_m=1 groups_n=1 teams=2 loaders=1 processors=2", 1, 2},
    // Products of 256 columns, of a single block of 8, of lengths that are no power of two; long chunks.
    {"n1 c24 o64 in3x300 k1x3 p0x1 bias", "positions=1x256 groups_m=1 groups_n=1 loaders=1", 1, 2, false},
    {"n1 c24 o64 in32x9 k3x1 p1x0 bias", "positions=32x8 groups_m=1 groups_n=1 loaders=1", 1, 2, false},
    {"n1 c72 o64 in4x9 k3x3 p1 residual", "positions=1x8 groups_m=1 groups_n=1 loaders=1", 4, 2},
    {"n2 c33 o65 in5x46 k1x5 s1x3 bias", "positions=3x24 groups_m=1 groups_n=3 loaders=1", 2, 2},
    {"n2 c20 o70 in5x46 k3x2 s1x2 bias", "positions=1x40 groups_m=2 groups_n=1 loaders=2 join=1", 1, 4},
    {"n1 c20 o33 in1x41 k1x7 bias", "positions=1x48 groups_m=1 groups_n=1 loaders=1 min_blocks=2 join=3", 1, 3},
    // Folded: with and without strides, steps of several input rows, rows of the product that are nothing, channels in
    // blocks, dilations that leave input rows without a tap, output rows without any.
    {"n2 c20 o32 in9x40 k3x3 p1 bias", "positions=2x32 groups_m=1 groups_n=1 loaders=1 fold=2", 1, 3},
    {"n1 c20 o24 in9x20 k3x3 p1 bias relu", "positions=4x16 groups_m=1 groups_n=2 loaders=1 fold=2", 1, 2},
    {"n1 c16 o14 in13x18 k5x3 p2x1 residual affine", "positions=2x8 groups_m=1 groups_n=1 loaders=1 fold=4", 1, 2},
    {"n2 c24 o70 in7x18 k4x4 s2 p1 bias", "positions=2x8 groups_m=2 groups_n=1 loaders=1 fold=2", 1, 2},
    {"n2 c24 o16 in7x18 k3x3 s2 p1 op1 bias", "positions=2x8 groups_m=1 groups_n=1 teams=2 loaders=1 fold=4", 1, 2},
    {"n1 c32 o40 in9x17 k2x2 s2 bias g2", "positions=4x16 groups_m=1 groups_n=1 loaders=1 resident=1 fold=2", 1, 3},
    {"n1 c16 o21 in6x9 k8x4 s4x2 p2x1", "positions=1x8 groups_m=2 groups_n=1 loaders=1 fold=4", 1, 2},
    {"n1 c16 o16 in9x17 k3x1 d3x1 p2x0 bias", "positions=2x16 groups_m=1 groups_n=1 loaders=1 fold=3", 1, 2},
    {"n1 c16 o9 in3x5x9 k3x2x2 s1x3x2 op0x2x1 bias", "positions=1x16 groups_m=1 groups_n=1 loaders=1 fold=3", 1, 2},
    // Row taps apart: strides, dilations, folds, volumes, weights that stay, phases without taps, several turns of the
    // ring.
    {"n2 c20 o70 in9x40 k3x3 p1 bias", "positions=2x32 groups_m=2 groups_n=1 loaders=2 apart=1", 1, 3},
    {"n3 c33 o48 in7x18 k4x4 s2 p1 bias", "positions=16x8 groups_m=1 groups_n=2 loaders=1 resident=1 apart=1", 1, 2},
    {"n1 c16 o24 in5x6x10 k3x5x7 s2 p1x2x3 op1 g2 bias relu",
     "positions=2x16 groups_m=1 groups_n=2 loaders=1 apart=1 processors=1", 1, 3},
    {"n1 c32 o16 in20x17 k5x3 d3x2 p2 bias", "positions=4x32 groups_m=1 groups_n=1 teams=2 loaders=1 apart=1", 1, 4},
    {"n2 c20 o32 in9x40 k5x3 p1 bias", "positions=2x32 groups_m=1 groups_n=1 loaders=1 fold=2 apart=1 storers=1", 1, 3},
    {"n1 c16 o9 in3x5x9 k3x2x2 s1x3x2 op0x2x1 bias", "positions=1x16 groups_m=1 groups_n=1 loaders=1 fold=3 apart=1", 1,
     2},
    {"n2 c40 o70 in9x33 k5x2 s3x1 bias", "positions=4x32 groups_m=1 groups_n=2 loaders=1 apart=1 processors=2", 1, 3},
    // With warpgroups that store: several slabs a warp, sums that are not all reached, tiles of several warpgroups, all
    // widths of a store, column phases of which some have no taps.
    {"n3 c24 o70 in9x41 k3x3 p1 bias", "positions=2x32 groups_m=1 groups_n=2 loaders=1 processors=2 storers=1", 1, 3},
    {"n3 c40 o70 in9x40 k4x4 s2 p1 bias relu", "positions=8x8 groups_m=2 groups_n=1 loaders=1 processors=1 storers=1",
     1, 3},
    {"n2 c20 o33 in5x46 k3x3 d2 bias affine", "positions=2x48 groups_m=1 groups_n=1 loaders=2 processors=3 storers=1",
     1, 2},
    {"n2 c24 o40 in9x17 k2x2 s2 affine",
     "positions=4x16 groups_m=1 groups_n=1 loaders=1 resident=1 processors=1 storers=1 store_width=2", 1, 3},
    {"n2 c24 o40 in4x7x21 k2x3x3 s2x2x1 bias silu",
     "positions=4x8 groups_m=1 groups_n=1 loaders=1 processors=2 storers=1", 1, 2},
    {"n1 c16 o20 in3x5x9 k1x2x2 s3x4x3 op1x2x1 bias",
     "positions=2x16 groups_m=1 groups_n=1 loaders=1 processors=2 storers=1", 1, 2},
    {"n2 c20 o32 in9x40 k3x3 p1 bias",
     "positions=2x32 groups_m=1 groups_n=2 loaders=1 fold=2 processors=1 storers=1 store_width=4", 1, 3},
    {"n1 c64 o64 in70 k16 s8 p4 bias", "positions=1x16 groups_m=1 groups_n=1 loaders=1 storers=1", 1, 2},
    // Several images to a tile, of which the last has fewer: with strides, folds, dilations, volumes, a residual, row
    // taps apart, teams and storers; tiles 8 wide and wider, images of more rows than a tile has of each.
    {"n5 c20 o70 in4x6 k4x4 s2 p1 bias", "positions=8x8 groups_m=2 groups_n=1 loaders=2 images=2", 1, 3},
    {"n7 c24 o40 in3x5 k3x3 p1 bias relu",
     "positions=12x8 groups_m=1 groups_n=1 teams=2 loaders=1 images=4 processors=1", 1, 4},
    {"n3 c33 o48 in4x7 k4x4 s2 p1 residual", "positions=8x8 groups_m=1 groups_n=2 loaders=1 images=2", 1, 2},
    {"n5 c20 o24 in4x6 k3x3 s2 p1 op1 bias", "positions=8x8 groups_m=1 groups_n=1 loaders=1 fold=2 images=2", 1, 3},
    {"n3 c16 o20 in5x6 k3x3 d2 bias", "positions=16x8 groups_m=1 groups_n=2 loaders=1 images=2 apart=1", 1, 3},
    {"n5 c16 o20 in4x20 k3x3 p1 bias affine", "positions=8x24 groups_m=1 groups_n=2 loaders=1 images=2 storers=1", 1,
     2},
    {"n3 c16 o20 in2x4x6 k3x2x2 s2 op0x1x1 bias", "positions=8x8 groups_m=1 groups_n=1 loaders=1 images=2 processors=2",
     1, 2},
    {"n9 c40 o64 in1x1 k4x4 bias", "positions=32x8 groups_m=1 groups_n=1 loaders=1 images=8 resident=1", 1, 2, false},
};

// The keys that `tile` leaves out do not depend on the layer. Factors that are split take twice the room: `small` has
// the shortest chunks and ring.
std::string plan_of(const Forced& forced, const Layer& layer, int index, bool small) {
    std::string plan = fmt::format("implicit_gemm_sm90 {} chunk={} stages={} index={}", forced.tile,
                                   (small ? 1 : forced.steps) * (size_of(layer.dtype) == 2 ? 16 : 8),
                                   small ? 2 : forced.stages, index);
    for (const std::string_view rest : {"teams=1", "fold=1", "apart=0", "storers=0", "store_width=1", "resident=0",
                                        "processors=132", "join=2", "min_blocks=1", "images=1"})
        if (plan.find(fmt::format(" {}", rest.substr(0, rest.find('=') + 1))) == std::string::npos)
            plan += fmt::format(" {}", rest);
    return plan;
}

bool fits(const Layer& layer, const std::string& plan) {
    PrepareOptions options;
    options.plan = plan;
    try {
        (void)Engine::render(layer, "sm_90", options);
    } catch (const UnsupportedError&) {
        return false;
    }
    return true;
}

// Empty where the tile does not fit the layer.
std::string fitting_plan(const Forced& forced, const Layer& layer, int index) {
    for (const bool small : {false, true})
        if (std::string plan = plan_of(forced, layer, index, small); fits(layer, plan)) return plan;
    return {};
}

class Warpgroups : public testing::TestWithParam<Forced> {};

// Without a GPU, too, it can be told that the test below has something to run.
TEST_P(Warpgroups, HaveTilesThatFit) {
    for (const char* type : {"", " tf32", " f16", " bf16"}) {
        const Layer layer = parse_layer(fmt::format("{}{}", GetParam().layer, type));
        const std::string plan = plan_of(GetParam(), layer, 32, false);
        if (*type == 0) {
            EXPECT_EQ(fitting_plan(GetParam(), layer, 32).empty(), !GetParam().split);
        } else {
            EXPECT_TRUE(fits(layer, plan)) << plan;
        }
        PrepareOptions options;
        options.plan = plan;
        EXPECT_THROW((void)Engine::render(layer, "sm_80", options), UnsupportedError) << plan;
    }
}

TEST_P(Warpgroups, MatchTheDefinitionEachTime) {
    CONVT_HOPPER(device);
    std::uint64_t seed = 1;
    for (const char* type : {"", " tf32", " f16", " bf16"})
        for (const int index : {32, 64}) {
            if (*type == 0 && !GetParam().split) continue;
            const Layer layer = parse_layer(fmt::format("{}{}", GetParam().layer, type));
            const Shape shape = known_shape(layer);
            RunOptions options;
            options.prepare.plan = fitting_plan(GetParam(), layer, index);
            options.residual_is_y = index == 64;
            if (!device.is_cuda() && index != (seed % 2 == 0 ? 32 : 64)) continue;  // its threads run one by one
            EXPECT_EQ(check(engine(), device, layer, shape, seed++, {}, options), "") << options.prepare.plan;
            if (!device.is_cuda()) continue;
            // Aligned and not, by the seed.
            EXPECT_EQ(check(engine(), device, layer, shape, seed++, {}, options), "") << options.prepare.plan;
            const HostTensors tensors = random_tensors(layer, shape, seed);
            const auto first = run(engine(), device, layer, shape, tensors, options);
            EXPECT_EQ(run(engine(), device, layer, shape, tensors, options), first) << "not the same bits";
        }
}

INSTANTIATE_TEST_SUITE_P(Tiles, Warpgroups, testing::ValuesIn(kForced));

// The default tile, teams that take turns on one block, resident weights in a tile that is 8 wide, a folded one (its
// weights of zero meet what is not finite), one with warpgroups that store, and one of two images.
constexpr const char* kSome[] = {
    "implicit_gemm_sm90",
    "implicit_gemm_sm90 positions=2x32 groups_m=1 groups_n=1 teams=2 loaders=1 chunk=16 stages=2 join=2 min_blocks=1 "
    "resident=0 processors=1 fold=1 storers=0",
    "implicit_gemm_sm90 positions=8x8 groups_m=1 groups_n=2 teams=1 loaders=1 chunk=16 stages=2 join=1 min_blocks=1 "
    "resident=1 processors=1 fold=1 storers=0",
    "implicit_gemm_sm90 positions=2x8 groups_m=1 groups_n=1 teams=1 loaders=1 chunk=8 stages=2 join=2 min_blocks=1 "
    "resident=0 processors=1 fold=6 storers=0",
    "implicit_gemm_sm90 positions=2x32 groups_m=1 groups_n=1 teams=1 loaders=1 chunk=16 stages=2 join=2 min_blocks=1 "
    "resident=0 processors=1 fold=1 storers=1",
    "implicit_gemm_sm90 positions=8x8 groups_m=1 groups_n=1 teams=1 loaders=1 chunk=16 stages=2 join=2 min_blocks=1 "
    "resident=0 processors=1 fold=1 storers=0 images=2",
};

// A chunk is two cells of 16 bytes at least.
std::string of_type(std::string plan, std::string_view type) {
    constexpr std::string_view kShort = "chunk=8";
    const std::size_t at = plan.find(kShort);
    if (at != std::string::npos && (type == " f16" || type == " bf16")) plan.replace(at, kShort.size(), "chunk=16");
    return plan;
}

class WarpgroupsOf : public testing::TestWithParam<const char*> {};

TEST_P(WarpgroupsOf, AllNumbersMatchTheDefinition) {
    CONVT_HOPPER(device);
    for (const char* type : {"", " tf32", " f16", " bf16"}) expect_all_numbers(device, type, of_type(GetParam(), type));
}

TEST_P(WarpgroupsOf, OutputsThatNothingReachesAreTheBias) {
    CONVT_HOPPER(device);
    expect_unreached_outputs_are_the_bias(device, GetParam());
}

// Infinite weights meet zeros beyond the image, and yet what no tap reaches is the bias.
TEST_P(WarpgroupsOf, InfiniteWeightsLeaveUnreachedOutputsAlone) {
    CONVT_HOPPER(device);
    for (const char* type : {"", " tf32", " f16", " bf16"}) {
        const Layer layer = parse_layer(fmt::format("n2 c16 o16 in4x5 k2x2 s3x4 op1x1 bias{}", type));
        const Shape shape = known_shape(layer);
        HostTensors tensors = random_tensors(layer, shape, 3);
        HostTensors none = tensors;
        for (double& value : none.w) value = 0;
        HostTensors ones = tensors;
        for (double& value : ones.x) value = 1;
        for (double& value : ones.w) value = 1;
        for (double& value : ones.bias) value = 0;
        const auto taps = reference(layer, shape, ones), bias = reference(layer, shape, none);
        for (double& value : tensors.w) value = std::numeric_limits<double>::infinity();
        RunOptions options;
        options.prepare.plan = of_type(GetParam(), type);
        const auto got = run(engine(), device, layer, shape, tensors, options);
        std::size_t unreached = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (taps[i] != 0) {
                ASSERT_FALSE(std::isfinite(got[i])) << type << " " << i << ": " << got[i];
                continue;
            }
            ASSERT_NEAR(got[i], bias[i], 0.01 * (1 + std::fabs(bias[i]))) << type << " " << i;
            ++unreached;
        }
        EXPECT_GT(unreached, 100u);
    }
}

TEST_P(WarpgroupsOf, TheTilesFit) {
    for (const char* type : {"", " tf32", " f16", " bf16"})
        for (const char* text : {"n1 c16 o20 in8x40 k3x3 p1 bias", "n2 c16 o16 in4x5 k2x2 s3x4 op1x1 bias",
                                 "n1 c32 o16 in4x5 k1x2 s3x4", "n1 c32 o16 in4x5 k3x3 s2 op1"})
            EXPECT_TRUE(fits(parse_layer(fmt::format("{}{}", text, type)), of_type(GetParam(), type))) << text << type;
}

INSTANTIATE_TEST_SUITE_P(Tiles, WarpgroupsOf, testing::ValuesIn(kSome));

// It does not choose the family by itself: a layer takes it the longer.
TEST(WarpgroupsOnTheSimulator, AreThereWhereAPlanNamesThem) {
    const Layer layer = parse_layer("n1 c64 o64 in64x64 k3x3 p1 tf32");
    PrepareOptions options;
    options.device = Device::simulator();
    EXPECT_EQ(engine().prepare(layer, options).info().plan, Engine::render(layer, "sm_80").plan);
    options.plan = "implicit_gemm_sm90";
    EXPECT_EQ(engine().prepare(layer, options).info().family, options.plan);
}

}  // namespace
}  // namespace convt_jit::test
