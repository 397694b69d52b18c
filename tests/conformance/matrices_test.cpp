// The implicit_gemm family where random layers seldom get: several warps in both directions, channels that fill no
// tile, long chunks, numbers that are not finite.

#include "conformance/check.h"
#include "conformance/subject.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace convt_jit::test {
namespace {

bool has_tensor_cores(const Device& device) { return !device.is_cuda() || std::stoi(device.arch().substr(3)) >= 80; }

struct Forced {
    const char* layer;
    const char* tile;
    int chunk, stages;
};
constexpr Forced kForced[] = {
    {"n1 c20 o70 in9x40 k3x3 p1 bias", "positions=4x32 block_channels=64 warps_m=2 warps_n=4 join=1", 8, 3},
    {"n1 c20 o70 in9x40 k3x3 p1 bias", "positions=2x64 block_channels=32 warps_m=2 warps_n=4 join=3", 16, 2},
    {"n1 c33 o48 in7x18 k4x4 s2 p1 bias", "positions=8x16 block_channels=48 warps_m=3 warps_n=2", 8, 2},
    {"n2 c24 o32 in300 k3 s2 p1 d2", "positions=1x128 block_channels=32 warps_m=2 warps_n=2", 8, 4},
    {"n1 c16 o24 in5x6x10 k3x5x7 s2 p1x2x3 op1 g2 bias relu", "positions=2x16 block_channels=16 warps_m=1 warps_n=2", 8,
     2},
    {"n1 c24 o16 in70 k16 s8 p4 bias", "positions=1x64 block_channels=16 warps_m=1 warps_n=4", 8, 2},
    {"n1 c16 o16 in9x17 k2x2 s2 residual affine", "positions=4x16 block_channels=16 warps_m=1 warps_n=2", 8, 2},
    {"n1 c16 o16 in20x17 k1x1 s3x2 bias", "positions=4x16 block_channels=16 warps_m=1 warps_n=2", 8, 2},
    {"n1 c16 o16 in20x17 k5x3 d3x2 p2 bias", "positions=4x8 block_channels=16 warps_m=1 warps_n=4", 8, 2},
};

class Matrices : public testing::TestWithParam<Forced> {};

TEST_P(Matrices, MatchTheDefinition) {
    CONVT_SUBJECT(device);
    if (!has_tensor_cores(device)) GTEST_SKIP() << "needs sm_80 or newer";
    std::uint64_t seed = 1;
    for (const char* type : {"", " tf32", " f16", " bf16"})
        for (const int order : {0, 1}) {
            const Layer layer = parse_layer(fmt::format("{}{}", GetParam().layer, type));
            const bool narrow = size_of(layer.dtype) == 2;  // twice the channels in a word, and two stages
            RunOptions options;
            options.prepare.plan = fmt::format("implicit_gemm {} chunk={} stages={} order={} index={}", GetParam().tile,
                                               GetParam().chunk * (narrow ? 2 : 1), narrow ? 2 : GetParam().stages,
                                               order, narrow ? 64 : 32);
            EXPECT_EQ(check(engine(), device, layer, known_shape(layer), seed++, {}, options), "")
                << options.prepare.plan;
        }
}

INSTANTIATE_TEST_SUITE_P(Tiles, Matrices, testing::ValuesIn(kForced));

// Numbers that are not finite, or overflow when they are split, come out as plain arithmetic has them: what is wrong
// with a factor must not make a NaN of an infinity, nor of a large number.
TEST(MatricesOfAllNumbers, MatchTheDefinition) {
    CONVT_SUBJECT(device);
    if (!has_tensor_cores(device)) GTEST_SKIP() << "needs sm_80 or newer";
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
        options.prepare.plan = "implicit_gemm";
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

}  // namespace
}  // namespace convt_jit::test
