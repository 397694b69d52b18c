// The implicit_gemm family where random layers seldom get: several warps in both directions, channels that fill no
// tile, long chunks, numbers that are not finite.

#include "conformance/check.h"
#include "conformance/special_values.h"
#include "conformance/subject.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace convt_jit::test {
namespace {

bool has_tensor_cores(const Device& device) { return !device.is_cuda() || std::stoi(device.arch().substr(3)) >= 80; }

struct Forced {
    const char* layer;
    const char* tile;
    int chunk, stages;
};
void PrintTo(const Forced& forced, std::ostream* out) {
    *out << fmt::format("{} {} chunk={} stages={}", forced.layer, forced.tile, forced.chunk, forced.stages);
}
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
    // Rows of a warp that share what is read of the input: a part of each row, whole rows, rows that are apart, and row
    // phases that have as many taps.
    {"n1 c20 o30 in9x40 k3x3 p1 bias", "positions=4x32 warp_rows=4 block_channels=32 warps_m=1 warps_n=4 join=2", 8, 3},
    {"n1 c20 o30 in9x40 k3x2 p1", "positions=8x16 warp_rows=2 block_channels=32 warps_m=2 warps_n=4", 16, 2},
    {"n1 c16 o20 in20x17 k5x3 d3x2 p2 bias", "positions=8x16 block_channels=32 warps_m=2 warps_n=4", 8, 2},
    {"n1 c16 o20 in9x18 k4x5 s2x1 p1 relu", "positions=4x16 warp_rows=2 block_channels=32 warps_m=1 warps_n=2 join=3",
     8, 2},
    {"n1 c16 o20 in9x18 k3x5 s2x1 p1 relu", "positions=4x16 warp_rows=2 block_channels=32 warps_m=1 warps_n=2 join=1",
     8, 2},
    {"n2 c24 o1 in13x17 k9x9 s3 p4 op2 bias",
     "fold=3x3 positions=4x16 warp_rows=4 block_channels=16 warps_m=1 warps_n=2", 8, 2},
    // Two column taps to a step: of phases with an odd and an even number of taps, and of a folded layer.
    {"n1 c8 o20 in9x40 k3x3 p1 bias", "positions=4x32 block_channels=32 warps_m=1 warps_n=4", 4, 3},
    {"n2 c20 o20 in7x18 k4x5 s2 p1 bias", "positions=4x16 block_channels=32 warps_m=2 warps_n=2 join=1", 4, 2},
    {"n1 c16 o32 in12x30 k3x5 s2x3 p1x2 d2x1 g2 bias", "fold=1x3 positions=4x32 block_channels=48 warps_m=1 warps_n=4",
     4, 2},
    {"n1 c16 o16 in4x12x20 k3x5x7 s2 p1x2x3 op1 g2 bias",
     "fold=2x2 positions=4x24 warp_rows=2 block_channels=32 warps_m=2 warps_n=2", 4, 2},
    // Folded: whole and with taps that do not exist, beginning at the image's corner and before it, phases that are
    // left, rows of the product that nothing has, outputs that nothing reaches.
    {"n2 c24 o1 in13x17 k9x9 s3 p4 op2 bias", "fold=3x3 positions=4x16 block_channels=16 warps_m=1 warps_n=2", 8, 2},
    {"n1 c16 o5 in9x20 k16x16 s8 p4 bias relu", "fold=8x8 positions=2x16 block_channels=128 warps_m=4 warps_n=1", 8, 2},
    {"n1 c16 o5 in9x20 k16x16 s8 p4 residual", "fold=2x4 positions=2x16 block_channels=32 warps_m=2 warps_n=1", 8, 2},
    {"n1 c40 o3 in9x21 k4x4 s2 p1 bias gelu", "fold=2x2 positions=4x16 block_channels=16 warps_m=1 warps_n=4", 8, 3},
    {"n1 c32 o32 in5x12x20 k3x5x7 s2 p1x2x3 op1 g4 bias",
     "fold=2x2 positions=2x32 block_channels=32 warps_m=2 warps_n=2", 8, 2},
    {"n1 c16 o20 in11x18 k3x3 s2 op1 affine", "fold=2x1 positions=4x24 block_channels=48 warps_m=3 warps_n=2", 8, 2},
    {"n1 c16 o20 in11x18 k3x3 s2 op1 bias", "fold=1x2 positions=2x24 block_channels=48 warps_m=1 warps_n=2", 8, 2},
    {"n2 c24 o6 in50 k13 s4 p7 op3 bias", "fold=1x4 positions=1x32 block_channels=32 warps_m=1 warps_n=4 join=3", 8, 3},
    {"n1 c24 o2 in70 k40 s20 p10", "fold=1x10 positions=1x16 block_channels=48 warps_m=1 warps_n=2", 8, 2},
};

class Matrices : public testing::TestWithParam<Forced> {};

TEST_P(Matrices, MatchTheDefinition) {
    CONVT_SUBJECT(device);
    if (!has_tensor_cores(device)) GTEST_SKIP() << "needs sm_80 or newer";
    std::uint64_t seed = 1;
    for (const char* type : {"", " tf32", " f16", " bf16"})
        for (const int order : {0, 1}) {
            const Layer layer = parse_layer(fmt::format("{}{}", GetParam().layer, type));
            const bool narrow = size_of(layer.dtype) == 2;  // twice the channels in a word
            RunOptions options;
            options.prepare.plan =
                fmt::format("implicit_gemm {} chunk={} stages={} order={} index={}", GetParam().tile,
                            GetParam().chunk * (narrow ? 2 : 1), GetParam().stages, order, narrow ? 64 : 32);
            EXPECT_EQ(check(engine(), device, layer, known_shape(layer), seed++, {}, options), "")
                << options.prepare.plan;
        }
}

INSTANTIATE_TEST_SUITE_P(Tiles, Matrices, testing::ValuesIn(kForced));

// Blocks that share the sums of a tile: with every kind of epilogue, outputs that no tap reaches, parts that have
// nothing to sum at the border of a volume, rows that are aligned and rows that are not.
constexpr Forced kShared[] = {
    {"n1 c48 o20 in5x40 k3x3 p1 bias", "positions=4x32 block_channels=32 warps_m=2 warps_n=4 split=3", 16, 2},
    {"n2 c64 o16 in5x7 k2x2 s4x5 op1x3 bias gelu", "positions=4x8 block_channels=16 warps_m=1 warps_n=2 split=2", 16,
     2},
    {"n3 c64 o24 in33 k5 s2 p2 g2 residual affine clamp-1:1",
     "positions=1x32 block_channels=16 warps_m=1 warps_n=2 split=2", 8, 2},
    {"n1 c32 o40 in3x6x10 k3x3x2 s2 p1 d1x2x1 residual", "positions=2x16 block_channels=48 warps_m=3 warps_n=2 split=4",
     16, 2},
    {"n1 c32 o16 in3x8x8 k5x1x1 d3x1x1 p6x0x0 bias relu", "positions=4x8 block_channels=16 warps_m=1 warps_n=2 split=8",
     16, 2},
    {"n2 c40 o17 in16x16 k4x4 s2 p1 scale2", "positions=4x16 block_channels=32 warps_m=1 warps_n=4 split=2", 16, 3},
    {"n2 c40 o5 in7x9 k5x4 s2 p1 op1 residual", "fold=2x2 positions=4x16 block_channels=32 warps_m=1 warps_n=4 split=2",
     16, 3},
};

class SharedSums : public testing::TestWithParam<Forced> {};

TEST_P(SharedSums, MatchTheDefinitionEachTime) {
    CONVT_SUBJECT(device);
    if (!has_tensor_cores(device)) GTEST_SKIP() << "needs sm_80 or newer";
    std::uint64_t seed = 1;
    for (const char* type : {"", " tf32", " f16", " bf16"})
        for (const bool in_place : {false, true}) {
            const Layer layer = parse_layer(fmt::format("{}{}", GetParam().layer, type));
            const bool narrow = size_of(layer.dtype) == 2;
            RunOptions options;
            options.prepare.plan =
                fmt::format("implicit_gemm {} chunk={} stages={} order={} index={}", GetParam().tile, GetParam().chunk,
                            GetParam().stages, in_place ? 0 : 1, in_place ? 64 : 32);
            if (narrow && GetParam().chunk % 16 != 0) continue;
            options.residual_is_y = in_place;
            // Aligned and not, by the seed.
            for (int again = 0; again < 2; ++again)
                EXPECT_EQ(check(engine(), device, layer, known_shape(layer), seed++, {}, options), "")
                    << options.prepare.plan;
            const HostTensors tensors = random_tensors(layer, known_shape(layer), seed);
            const auto first = run(engine(), device, layer, known_shape(layer), tensors, options);
            EXPECT_EQ(run(engine(), device, layer, known_shape(layer), tensors, options), first) << "not the same bits";
        }
}

INSTANTIATE_TEST_SUITE_P(Tiles, SharedSums, testing::ValuesIn(kShared));

TEST(SharedSumsOfNothing, AreTheBias) {
    CONVT_SUBJECT(device);
    if (!has_tensor_cores(device)) GTEST_SKIP() << "needs sm_80 or newer";
    expect_unreached_outputs_are_the_bias(
        device, "implicit_gemm positions=4x8 block_channels=16 warps_m=1 warps_n=1 chunk=8 stages=2 split=4");
}

// A number that overflows when it is split, and yet has ordinary products: a part that computes its sum once more must
// not take what belongs to the others.
TEST(SharedSumsOfHugeNumbers, AreComputedOnceMoreInParts) {
    CONVT_SUBJECT(device);
    if (!has_tensor_cores(device)) GTEST_SKIP() << "needs sm_80 or newer";
    const Layer layer = parse_layer("n1 c48 o20 in3x4x40 k2x3x3 s1 p1 bias");
    const Shape shape = known_shape(layer);
    HostTensors tensors = random_tensors(layer, shape, 5);
    for (const std::size_t channel : {7u, 30u}) {
        for (std::size_t i = 0; i < 20 * 18; ++i) tensors.w[channel * 20 * 18 + i] = i % 2 == 0 ? 0x1p-126 : -0x1p-127;
        tensors.x[channel * 480 + 200] = 0x1.fffffep127;
    }
    const auto want = reference(layer, shape, tensors);
    for (const char* split : {"1", "2", "5"}) {
        RunOptions options;
        options.prepare.plan = fmt::format(
            "implicit_gemm positions=2x32 block_channels=32 warps_m=1 warps_n=2 chunk=16 stages=2 split={}", split);
        EXPECT_EQ(differences(layer, run(engine(), device, layer, shape, tensors, options), want), "") << split;
    }
}

TEST(MatricesOfAllNumbers, MatchTheDefinition) {
    CONVT_SUBJECT(device);
    if (!has_tensor_cores(device)) GTEST_SKIP() << "needs sm_80 or newer";
    for (const auto& [type, plan] :
         {std::pair{"", ""}, {" tf32", ""}, {" f16", ""}, {" bf16", ""}, {"", " chunk=8 stages=2 split=2"}})
        expect_all_numbers(device, type, fmt::format("implicit_gemm{}", plan));
}

// Weights that a fold lacks meet numbers that are not finite, in every precision.
TEST(MatricesOfAllNumbers, MatchTheDefinitionWhereOutputsAreFolded) {
    CONVT_SUBJECT(device);
    if (!has_tensor_cores(device)) GTEST_SKIP() << "needs sm_80 or newer";
    constexpr const char* kPlan =
        "implicit_gemm fold={} positions=4x16 block_channels=32 warps_m=1 warps_n=2 chunk=16 stages=2 split=1";
    for (const char* type : {"", " tf32", " f16", " bf16"})
        for (const char* fold : {"2x2", "1x2", "2x2 warp_rows=2"})
            expect_all_numbers(device, type, fmt::format(fmt::runtime(kPlan), fold), "k3x3 s2 p1 op1");
    for (const char* chunk : {"", " tf32", " f16", " bf16"})
        expect_all_numbers(device, chunk,
                           fmt::format("implicit_gemm fold=1x2 positions=4x16 block_channels=32 warps_m=1 warps_n=2 "
                                       "chunk={} stages=2 split=1",
                                       std::string(chunk).ends_with("f16") ? 8 : 4),
                           "k3x3 s2 p1 op1");
}

// Kernels and strides that are too long to be unrolled as they are.
TEST(MatricesOfLongKernels, MatchTheDefinition) {
    CONVT_SUBJECT(device);
    if (!has_tensor_cores(device)) GTEST_SKIP() << "needs sm_80 or newer";
    std::uint64_t seed = 1;
    for (const char* type : {"", " tf32", " f16"})
        for (const char* text : {"n2 c18 o1 in9 k128 s32 bias", "n1 c24 o3 in5 k120 s60 p30 relu",
                                 "n1 c9 o5 in3x4 k64x48 s32x16 p16x5 op1x0", "n1 c16 o33 in7 k77 s36 p3 residual"}) {
            const Layer layer = parse_layer(fmt::format("{}{}", text, type));
            const auto plans = Engine::plans(layer, device.is_cuda() ? device.arch() : "sm_80", 1);
            EXPECT_NE(plans.front().find("implicit_gemm "), std::string::npos) << plans.front();
            EXPECT_EQ(plans.front().find("fold=1x1 "), std::string::npos) << plans.front();
            EXPECT_EQ(check(engine(), device, layer, known_shape(layer), seed++), "") << plans.front();
        }
}

TEST(MatricesOfNothing, AreTheBiasWhereOutputsAreFolded) {
    CONVT_SUBJECT(device);
    if (!has_tensor_cores(device)) GTEST_SKIP() << "needs sm_80 or newer";
    for (const char* split : {"1", "2"})
        expect_unreached_outputs_are_the_bias(
            device,
            fmt::format("implicit_gemm fold=2x2 positions=4x8 block_channels=16 warps_m=1 warps_n=1 chunk=8 stages=2 "
                        "split={}",
                        split),
            {"n1 c32 o16 in4x5 k3x3 s2 op1", "n1 c32 o6 in4x5 k3x3 s2 op1 bias",
             "n1 c32 o16 in4x5 k2x5 s2 p0x8:0x0 op1 bias"});
}

}  // namespace
}  // namespace convt_jit::test
