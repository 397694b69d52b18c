#include "plan/implicit_gemm_sm90.h"

#include "convt_jit/error.h"
#include "plan/geometry.h"
#include "plan/plan.h"
#include "plan/shared_limit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace convt_jit {
namespace {

const Arch kHopper{90, 0};

constexpr const char* kLayers[] = {
    "n8 c64 o64 in1024x1024 k3x3 bias tf32",
    "n64 c128 o128 in65536 k3 bias",
    "n64 c256 o256 in32x24 k4x4 s2 p1 bias f16",
    "n2 c320 o256 in16x16x16 k2x2x2 s2 bias bf16",
    "c64 o64 k3x3 tf32",
};

TEST(ImplicitGemmSm90, HasCandidatesThatFit) {
    for (const char* text : kLayers) {
        const Layer layer = parse_layer(text);
        const auto tiles = implicit_gemm_sm90_candidates(layer, kHopper, 50);
        EXPECT_GE(tiles.size(), 10u) << text;
        double before = 0;
        for (const ImplicitGemmSm90Tile& tile : tiles) {
            EXPECT_EQ(tile.unsupported(layer, kHopper, false), "") << text;
            EXPECT_LE(tile.shared_bytes(layer), shared_limit(kHopper)) << text;
            EXPECT_LE(tile.threads(layer), 1024) << text;
            const double cycles = tile.modelled_cycles(layer, kHopper);
            EXPECT_LE(before, cycles) << text;
            before = cycles;
        }
        EXPECT_EQ(tiles.front(), ImplicitGemmSm90Tile::standard(layer, kHopper)) << text;
    }
}

TEST(ImplicitGemmSm90, TextAndBack) {
    const Layer layer = parse_layer(kLayers[0]);
    Plan plan = choose(layer, kHopper, {"implicit_gemm_sm90", false});
    EXPECT_EQ(parse_plan(to_string(plan), layer, kHopper), plan);
    plan.tile = ImplicitGemmSm90Tile{{4, 40}, 2, 1, 2, 2, 16, 5, 3, 2, 1, 78};
    EXPECT_EQ(parse_plan(to_string(plan), layer, kHopper), plan);
}

// wgmma is compiled for sm_90a, and nothing else is.
TEST(ImplicitGemmSm90, AloneNeedsTheArchsSuffix) {
    const Layer layer = parse_layer(kLayers[0]);
    for (const Arch& asked : {Arch{90, 0}, Arch{90, 'a'}}) {
        EXPECT_EQ(compile_arch(choose(layer, asked, {"implicit_gemm_sm90", false}), asked), (Arch{90, 'a'}));
        for (const char* plan : {"implicit_gemm", "unrolled", "direct"})
            EXPECT_EQ(compile_arch(choose(layer, asked, {plan, false}), asked), (Arch{90, 0})) << plan;
    }
}

std::string refusal(const char* text, const char* plan, const Arch& arch = kHopper, bool exact_nonfinite = false) {
    try {
        (void)choose(parse_layer(text), arch, {plan, exact_nonfinite});
    } catch (const UnsupportedError& error) {
        const std::string message = error.what();
        return message.substr(message.find(": ", message.find("cannot serve")) + 2);
    }
    return "accepted";
}

constexpr const char* kFits =
    "implicit_gemm_sm90 positions=2x128 groups_m=1 groups_n=2 teams=1 loaders=2 chunk=8 stages=3 join=2 min_blocks=1 "
    "resident=0 processors=132";

std::string with(const std::string& key, const std::string& value) {
    std::string plan = kFits;
    const std::size_t at = plan.find(" " + key + "=") + key.size() + 2;
    return plan.replace(at, plan.find(' ', at) - at, value);
}

TEST(ImplicitGemmSm90, RefusalsSayWhy) {
    const char* layer = "n1 c64 o64 in64x256 k3x3 tf32";
    EXPECT_EQ(refusal(layer, kFits), "accepted");
    EXPECT_EQ(refusal(layer, kFits, Arch{80, 0}), "implicit_gemm_sm90 needs sm_90a, not sm_80");
    EXPECT_EQ(refusal(layer, kFits, Arch{100, 'a'}), "implicit_gemm_sm90 needs sm_90a, not sm_100a");
    EXPECT_EQ(refusal(layer, kFits, kHopper, true),
              "implicit_gemm_sm90 multiplies weights by the zeros beyond the input");
    EXPECT_EQ(refusal(layer, with("groups_m", "5").c_str()), "more than 4 warpgroups multiply");
    EXPECT_EQ(refusal(layer, with("loaders", "3").c_str()), "more than 2 warpgroups load");
    EXPECT_EQ(refusal(layer, with("resident", "2").c_str()), "resident is 2, allowed: 0 and 1");
    EXPECT_EQ(refusal(layer, with("chunk", "12").c_str()), "chunk 12 does not divide by 8");
    EXPECT_EQ(refusal(layer, with("positions", "2x100").c_str()), "positions (width) 100 does not divide by 8");
    EXPECT_EQ(refusal(layer, with("positions", "2x512").c_str()), "a product has 512 columns, allowed: up to 256");
    EXPECT_EQ(refusal(layer, with("positions", "8x128").c_str()), "a thread has 256 sums, allowed: up to 200");
    EXPECT_NE(refusal(layer, with("stages", "40").c_str()).find("bytes of shared memory"), std::string::npos);
    EXPECT_NE(refusal("n1 c256 o64 in64x256 k3x3 tf32", with("resident", "1").c_str()).find("bytes of shared memory"),
              std::string::npos);
}

TEST(ImplicitGemmSm90, ResourcesAreCountedAsInTheTemplate) {
    const Layer layer = parse_layer("n3 c64 o100 in64x256 k3x3 tf32");
    ImplicitGemmSm90Tile tile;
    tile = {{2, 128}, 1, 2, 1, 2, 8, 3, 2, 1, 0, 132};
    // A stage: 2 halves of 4 x 130 pixels, and 9 taps of 2 halves of 64 channels, 16 bytes each. A slab: 8 channels of
    // 128 outputs, 8 banks apart.
    const std::size_t input = 2 * 4 * 130 * 16, weights = 9 * 2 * 64 * 16, slab = 8 * (128 + 8) * 4;
    EXPECT_EQ(tile.shared_bytes(layer), 3 * (input + weights) + 8 * slab + 3 * 16 + 8 + 8);
    EXPECT_EQ(tile.packed_bytes(layer), static_cast<std::int64_t>(2 * 8 * weights));  // blocks of channels, chunks
    EXPECT_EQ(tile.threads(layer), 512);
    tile.resident = 1;
    tile.stages = 2;
    EXPECT_EQ(tile.shared_bytes(layer), 2 * input + 8 * weights + 8 * slab + 2 * 16 + 8 + 8);
}

TEST(ImplicitGemmSm90, BlocksStayWithTheirWeights) {
    const Layer layer = parse_layer("n1 c64 o192 in33x300 k2x2 s2 f16");
    ImplicitGemmSm90Tile tile;
    tile = {{1, 128}, 1, 2, 1, 2, 16, 4, 2, 1, 0, 132};
    const Shape small{1, {33, 300}}, none{1, {1, 1}};
    EXPECT_EQ(tile.grid(layer, small).x, 132);  // of 3 x 33 tiles for each of 3 blocks of channels and 2 row phases
    EXPECT_EQ(tile.grid(layer, none).x, 6);
    tile.resident = 1;
    EXPECT_EQ(tile.grid(layer, small).x, 132);
    tile.processors = 100;
    EXPECT_EQ(tile.grid(layer, small).x, 96);
    tile.processors = 2;
    EXPECT_EQ(tile.grid(layer, small).x, 6);
}

}  // namespace
}  // namespace convt_jit
