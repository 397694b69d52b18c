// The implicit_gemm_sm90 family, on a Hopper GPU alone: the simulator has no wgmma.

#include "conformance/check.h"
#include "conformance/subject.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace convt_jit::test {
namespace {

#define CONVT_HOPPER(device) \
    CONVT_SUBJECT(device);   \
    if (!device.is_cuda() || device.arch() != "sm_90") GTEST_SKIP() << "needs a GPU of sm_90"

struct Forced {
    const char* layer;
    const char* tile;
    int steps, stages;  // of a chunk
};
constexpr Forced kForced[] = {
    {"n1 c20 o70 in9x40 k3x3 p1 bias", "positions=2x32 groups_m=2 groups_n=1 loaders=2", 1, 3},
    {"n1 c20 o70 in9x40 k3x3 p1 bias", "positions=2x64 groups_m=1 groups_n=2 loaders=1", 2, 2},
    {"n1 c40 o70 in9x40 k3x3 p1 bias", "positions=8x8 groups_m=1 groups_n=1 teams=2 loaders=1", 1, 4},
    {"n3 c33 o48 in7x18 k4x4 s2 p1 bias", "positions=16x8 groups_m=1 groups_n=2 loaders=1 resident=1", 1, 2},
    {"n2 c24 o132 in300 k3 s2 p1 d2", "positions=1x128 groups_m=3 groups_n=1 loaders=1", 1, 4},
    {"n2 c24 o132 in300 k3 s2 p1 d2 bias", "positions=1x64 groups_m=1 groups_n=1 teams=2 loaders=1 resident=1", 1, 3},
    {"n1 c64 o64 in70 k16 s8 p4 bias", "positions=1x16 groups_m=1 groups_n=1 loaders=2", 1, 2},
    {"n1 c16 o24 in5x6x10 k3x5x7 s2 p1x2x3 op1 g2 bias relu", "positions=2x16 groups_m=1 groups_n=2 loaders=1", 1, 2},
    {"n1 c32 o16 in9x17 k2x2 s2 residual affine", "positions=4x16 groups_m=1 groups_n=1 loaders=1 min_blocks=2", 1, 3},
    {"n1 c16 o16 in20x17 k1x1 s3x2 bias", "positions=4x16 groups_m=1 groups_n=2 loaders=1 resident=1", 1, 2},
    {"n1 c16 o16 in20x17 k5x3 d3x2 p2 bias", "positions=4x32 groups_m=1 groups_n=1 loaders=1", 1, 2},
    {"n5 c32 o64 in3x8x8 k5x1x1 d3x1x1 p6x0x0 bias relu", "positions=8x8 groups_m=1 groups_n=1 loaders=1 processors=3",
     1, 3},
    {"n2 c200 o130 in13x19 k3x3 s2 p1 op1 bias gelu", "positions=4x8 groups_m=2 groups_n=1 teams=2 loaders=1", 2, 3},
};

class Warpgroups : public testing::TestWithParam<Forced> {};

TEST_P(Warpgroups, MatchTheDefinitionEachTime) {
    CONVT_HOPPER(device);
    std::uint64_t seed = 1;
    int supported = 0;
    for (const char* type : {"", " tf32", " f16", " bf16"})
        for (const int index : {32, 64}) {
            const Layer layer = parse_layer(fmt::format("{}{}", GetParam().layer, type));
            RunOptions options;
            options.prepare.plan =
                fmt::format("implicit_gemm_sm90 min_blocks=1 {} chunk={} stages={} join=2 index={}", GetParam().tile,
                            GetParam().steps * (size_of(layer.dtype) == 2 ? 16 : 8), GetParam().stages, index);
            if (const std::size_t twice = options.prepare.plan.rfind("min_blocks=2"); twice != std::string::npos)
                options.prepare.plan.erase(options.prepare.plan.find("min_blocks=1 "), 13);
            for (const char* rest : {"teams", "resident", "processors"})
                if (options.prepare.plan.find(rest) == std::string::npos)
                    options.prepare.plan += fmt::format(" {}={}", rest, *rest == 't' ? 1 : *rest == 'r' ? 0 : 132);
            if (const std::string none; type == none) try {
                    (void)Engine::render(layer, "sm_90", options.prepare);
                } catch (const UnsupportedError&) {  // twice the factors and the sums where factors are split
                    continue;
                }
            EXPECT_EQ(check(engine(), device, layer, known_shape(layer), seed++, {}, options), "")
                << options.prepare.plan;
            ++supported;
            const HostTensors tensors = random_tensors(layer, known_shape(layer), seed);
            const auto first = run(engine(), device, layer, known_shape(layer), tensors, options);
            EXPECT_EQ(run(engine(), device, layer, known_shape(layer), tensors, options), first) << "not the same bits";
        }
    EXPECT_GE(supported, 6);
}

INSTANTIATE_TEST_SUITE_P(Tiles, Warpgroups, testing::ValuesIn(kForced));

// Numbers that are not finite, or overflow when they are split, come out as plain arithmetic has them.
TEST(WarpgroupsOfAllNumbers, MatchTheDefinition) {
    CONVT_HOPPER(device);
    constexpr double inf = std::numeric_limits<double>::infinity();
    for (const char* type : {"", " tf32", " f16", " bf16"}) {
        const Layer layer = parse_layer(fmt::format("n1 c16 o20 in8x40 k3x3 p1 bias{}", type));
        const Shape shape = known_shape(layer);
        HostTensors tensors = random_tensors(layer, shape, 5);
        for (double& w : tensors.w) w = std::round(4 * w) / 4;  // some are zero, and none has a second half
        tensors.x[3 * 320 + 85] = inf;
        tensors.x[4 * 320 + 200] = -inf;
        tensors.x[5 * 320 + 33] = std::nan("");
        if (layer.dtype == DType::f32 && layer.precision == Precision::ieee) tensors.x[7 * 320 + 290] = 0x1.fffffep127;
        RunOptions options;
        options.prepare.plan = "implicit_gemm_sm90";
        const auto got = run(engine(), device, layer, shape, tensors, options);
        const auto want = reference(layer, shape, tensors);
        std::size_t infinite = 0;
        for (std::size_t i = 0; i < want.size(); ++i) {
            if (std::isnan(want[i])) {
                EXPECT_TRUE(std::isnan(got[i])) << type << " " << i;
            } else if (std::isinf(want[i])) {
                EXPECT_EQ(got[i], want[i]) << type << " " << i;
                ++infinite;
            } else if (std::fabs(want[i]) < 1e37) {
                EXPECT_NEAR(got[i], want[i], 0.05 * (1 + std::fabs(want[i]))) << type << " " << i;
            } else if (std::fabs(want[i]) < 0x1p127) {
                EXPECT_NEAR(got[i] / want[i], 1, 1e-6) << type << " " << i;
            }
        }
        EXPECT_GT(infinite, 10u) << type;
    }
}

// What no tap reaches is the bias bit by bit, also where that is a negative zero.
TEST(WarpgroupsOfNothing, AreTheBias) {
    CONVT_HOPPER(device);
    for (const char* text : {"n1 c32 o16 in4x5 k1x2 s3x4", "n1 c32 o16 in4x5 k1x2 s3x4 bias",
                             "n1 c32 o16 in4x5 k3x3 s2 op1", "n1 c32 o16 in4x5 k3x3 s2 op1 bias"}) {
        const Layer layer = parse_layer(text);
        const Shape shape = known_shape(layer);
        HostTensors tensors = random_tensors(layer, shape, 3);
        for (double& b : tensors.bias) b = -0.0;
        HostTensors ones = tensors;
        for (double& value : ones.x) value = 1;
        for (double& value : ones.w) value = 1;
        const auto taps = reference(layer, shape, ones);
        RunOptions options;
        options.prepare.plan = "implicit_gemm_sm90";
        const auto got = run(engine(), device, layer, shape, tensors, options);
        std::size_t unreached = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (taps[i] != 0) continue;
            ASSERT_TRUE(got[i] == 0 && std::signbit(got[i]) == layer.bias) << text << " " << i << ": " << got[i];
            ++unreached;
        }
        EXPECT_GT(unreached, 100u);
    }
}

}  // namespace
}  // namespace convt_jit::test
