#include "plan/implicit_gemm.h"

#include "convt_jit/error.h"
#include "plan/geometry.h"
#include "plan/implicit_gemm_cost.h"
#include "plan/implicit_gemm_resources.h"
#include "plan/plan.h"
#include "plan/shared_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace convt_jit {
namespace {

const Arch kHopper{90, 0};

constexpr const char* kLayers[] = {
    "n8 c64 o64 in1024x1024 k3x3 bias",
    "n64 c128 o128 in65536 k3 bias tf32",
    "n16 c32 o64 in131072 k3 s2 p1 d2 bias f16",
    "n64 c256 o256 in32x24 k4x4 s2 p1 bias",
    "n8 c32 o32 in12x24x48 k3x5x7 s2 p1x2x3 op1 g4 bias bf16",
    "n16 c512 o256 in128 k16 s8 p4 bias",
    "c64 o64 k3x3",
};

TEST(ImplicitGemm, HasCandidatesThatFit) {
    for (const char* text : kLayers) {
        const Layer layer = parse_layer(text);
        for (const int arch : {80, 86, 90, 120}) {
            const Arch target{arch, 0};
            const auto tiles = implicit_gemm_candidates(layer, target, 50);
            EXPECT_GE(tiles.size(), 10u) << text << " on " << arch;
            for (const ImplicitGemmTile& tile : tiles) {
                EXPECT_EQ(tile.unsupported(layer, target, false), "") << text;
                EXPECT_LE(tile.shared_bytes(layer), shared_limit(target)) << text;
                EXPECT_LE(tile.threads(layer), 1024) << text;
            }
            const ImplicitGemmTile standard = ImplicitGemmTile::standard(layer, target);
            if (tiles.front().fold == std::array{1, 1} && tiles.front().warp_rows == 0)
                EXPECT_EQ(tiles.front(), standard) << text;
            else
                EXPECT_LE(tiles.front().modelled_cycles(layer, target), standard.modelled_cycles(layer, target));
        }
    }
}

TEST(ImplicitGemm, TextAndBack) {
    const Layer layer = parse_layer(kLayers[0]);
    Plan plan = choose(layer, kHopper, {"implicit_gemm", false});
    EXPECT_EQ(parse_plan(to_string(plan), layer, kHopper), plan);
    auto& tile = std::get<ImplicitGemmTile>(plan.tile);
    tile = {{2, 40}, 48, 3, 5, 24, 4, 7, 2, ImplicitGemmTile::kInputs, 6, 2, {3, 2}};
    EXPECT_EQ(parse_plan(to_string(plan), layer, kHopper), plan);
}

TEST(ImplicitGemm, IsTakenWhereItIsModelledQuickest) {
    for (const char* text : kLayers) {
        const Layer layer = parse_layer(text);
        for (const Arch& arch : {Arch{80, 0}, kHopper}) {
            const double unrolled = UnrolledTile::standard(layer, arch).modelled_cycles(layer, arch);
            const double own = ImplicitGemmTile::standard(layer, arch).modelled_cycles(layer, arch);
            const double warpgroups = ImplicitGemmSm90Tile::standard(layer, arch).modelled_cycles(layer, arch);
            EXPECT_EQ(std::holds_alternative<ImplicitGemmTile>(choose(layer, arch).tile),
                      own < unrolled && own <= warpgroups)
                << text << " on " << to_string(arch);
        }
    }
    const auto family = [](const char* text, int arch) {
        return std::string(family_name(choose(parse_layer(text), Arch{arch, 0})));
    };
    EXPECT_EQ(family("n8 c64 o64 in1024x1024 k3x3 bias tf32", 80), "implicit_gemm");
    EXPECT_EQ(family("n8 c64 o64 in1024x1024 k3x3 bias tf32", 90), "implicit_gemm_sm90");
    EXPECT_EQ(family("n16 c32 o64 in131072 k3 s2 p1 d2 bias f16", 90), "implicit_gemm_sm90");
    EXPECT_EQ(family("n16 c32 o64 in16x32x32 k3x3x3 s2 p1 d2 bias f16", 90), "implicit_gemm");
    EXPECT_EQ(family("n16 c32 o64 in128x256 k3x5 s2x3 p1x2 d2x1 g4 bias", 90), "unrolled");
    EXPECT_EQ(family("n16 c64 o64 in128x128 k4x4 s2 p1 g64 bias f16", 90), "unrolled");
}

TEST(ImplicitGemm, RefusalsSayWhy) {
    const auto why = [](const char* text, const char* plan, int arch = 90, bool exact_nonfinite = false) {
        try {
            (void)choose(parse_layer(text), {arch, 0}, {plan, exact_nonfinite});
        } catch (const UnsupportedError& error) {
            const std::string message = error.what();
            return message.substr(message.find(": ", message.find("cannot serve")) + 2);
        }
        return std::string("accepted");
    };
    constexpr const char* kTile =
        "implicit_gemm positions=4x32 block_channels=64 warps_m=2 warps_n=4 chunk=16 stages=2";
    EXPECT_EQ(why("c64 o64 k3x3", kTile), "accepted");
    EXPECT_EQ(why("c64 o64 k3x3", kTile, 75), "implicit_gemm needs sm_80 or newer, not sm_75");
    EXPECT_EQ(why("c64 o64 k3x3 nhwc", kTile), "implicit_gemm serves channels-first tensors");
    EXPECT_EQ(why("c64 o64 k3x3", kTile, 90, true), "implicit_gemm multiplies weights by the zeros beyond the input");
    const auto with = [&](const char* text, const char* key) { return why(text, key); };
    EXPECT_EQ(with("c64 o64 k3x3", "implicit_gemm positions=4x32 block_channels=40 warps_m=2"),
              "block_channels is 40, allowed: multiples of 32");
    EXPECT_EQ(with("c64 o64 k3x3", "implicit_gemm positions=4x36"), "positions (width) is 36, allowed: multiples of 8");
    EXPECT_EQ(with("c64 o64 k3x3 f16", "implicit_gemm positions=4x32 chunk=24"),
              "chunk is 24, allowed: multiples of 16");
    EXPECT_EQ(with("c64 o64 k3x3 f16",
                   "implicit_gemm positions=4x32 block_channels=64 warps_m=2 warps_n=4 chunk=16 "
                   "stages=3"),
              "accepted");
    EXPECT_EQ(with("c64 o64 k3x3",
                   "implicit_gemm positions=4x24 block_channels=64 warps_m=2 warps_n=6 chunk=8 "
                   "stages=2"),
              "a warp has 2 times 8 positions of rows of 3: neither a part of a row nor whole rows");
    EXPECT_EQ(with("c64 o64 k3x3",
                   "implicit_gemm positions=8x16 block_channels=64 warps_m=2 warps_n=2 chunk=8 stages=2 warp_rows=3"),
              "warp_rows is 3, allowed: 0, 4, 8");
    EXPECT_EQ(with("c64 o64 k3x3", "implicit_gemm join=0"),
              "join is 0, allowed: 1 to 8 in ieee, since tensor cores cut long sums off");
    EXPECT_EQ(with("c64 o64 k3x3 tf32", "implicit_gemm join=0"), "accepted");
    EXPECT_EQ(with("c64 o64 k3x3", "implicit_gemm stages=1"), "a ring needs two stages");
    EXPECT_EQ(with("c64 o64 k3x3", "implicit_gemm chunk=16 stages=2 split=5"),
              "split is 5, and there are no more than 4 chunks to share");
    EXPECT_EQ(with("c64 o64 k3x3", "implicit_gemm split=33"), "split is 33, allowed: 1 to 32");
    EXPECT_EQ(with("c64 o2 k4x4 s4", "implicit_gemm fold=4x4 block_channels=16 warps_m=1 positions=4x16 warps_n=4"),
              "accepted");
    EXPECT_EQ(with("c64 o2 k8x8 s8", "implicit_gemm fold=8x8 block_channels=16 warps_m=1 positions=4x16 warps_n=4"),
              "fold makes 64 rows of a channel, more than block_channels, 16");
    EXPECT_EQ(with("c64 o2 k3x3", "implicit_gemm fold=2x1 positions=4x16"),
              "fold is 2 along height, allowed: divisors of the stride 1");
    EXPECT_EQ(with("c64 o2 k3x3", "implicit_gemm fold=0x1 positions=4x16"),
              "fold is 0 along height, allowed: divisors of the stride 1");
    EXPECT_EQ(
        with("c1048576 o1048576 k1", "implicit_gemm positions=4x32 block_channels=64 warps_m=2 warps_n=2 chunk=8"),
        "the packed weights take 4398046511104 bytes, allowed: up to 549755813888");
}

TEST(ImplicitGemm, PackedWeightsHaveRoomForTheLongestRowPhase) {
    // Taps of 3 row phases: 2, 1 and 1, so two slots each; 3 channel blocks of 16; 2 chunks of 16.
    const Layer layer = parse_layer("c40 o68 in5x11x30 k3x4x5 s2x3x2 p1 g2 f16");
    const auto plan = choose(layer, kHopper,
                             {"implicit_gemm positions=4x16 block_channels=16 warps_m=1 warps_n=2 "
                              "chunk=16 stages=2",
                              false});
    EXPECT_EQ(packed_bytes(layer, plan), 2 * 3 * 3 * 3 * 2 * (2 * 5 * 1 * 16 * 8 * 4));
    EXPECT_EQ(pack_geometry(layer, plan).grid.x, 2 * 3 * 3 * 3 * 2 * (2 * 5 * 1 * 16 * 8) / 4 / 256);
    EXPECT_EQ(packed_bytes(layer, choose(layer, kHopper, {"direct", false})), 0);
    EXPECT_EQ(packed_bytes(layer, choose(layer, kHopper, {"reference", false})), 0);
}

TEST(ImplicitGemm, TheGridCoversTheOutput) {
    const Layer layer = parse_layer("n3 c20 o40 in5x11x30 k3x4x3 s2x3x2 p1 g2");
    ImplicitGemmTile tile;
    tile.positions = {4, 16};
    tile.block_channels = 16;
    const Dims out = output_size(layer, layer.input);  // 9x32x59
    ASSERT_EQ(to_string(out), "9x32x59");
    const Grid planes = tile.grid(layer, known_shape(layer));
    EXPECT_EQ(planes.x, 2) << "30 positions";
    EXPECT_EQ(planes.y, 9 * 3 * 3) << "11 positions and 3 phases of a row, 9 planes";
    EXPECT_EQ(planes.z, 3 * 4);
    tile.order = ImplicitGemmTile::kInputs;
    EXPECT_EQ(tile.grid(layer, known_shape(layer)).x, 2 * 4);
    EXPECT_EQ(tile.workspace_bytes(layer, known_shape(layer)), 0);
    tile.split = 2;
    EXPECT_EQ(tile.grid(layer, known_shape(layer)).z, 3 * 2);
    const Layer folded = parse_layer("n3 c20 o10 in11x30 k7x4 s3x2 p1");  // output 35x60
    tile.fold = {3, 2};
    EXPECT_EQ(tile.grid(folded, known_shape(folded)).y, 3)
        << "12 positions, the first row of which is beyond the image";
    EXPECT_EQ(tile.grid(folded, known_shape(folded)).x, 2 * 5) << "31 positions, two of ten channels in 16 rows";
    tile.fold = {1, 1};
    const std::int64_t outputs = 3 * 40 * 9 * 32 * 59;
    EXPECT_EQ(tile.workspace_bytes(layer, known_shape(layer)), 2 * 4 * outputs);
    EXPECT_EQ(tile.reduce_grid(layer, known_shape(layer)).x, (outputs + 1023) / 1024);
}

TEST(ImplicitGemm, FewChannelsAreFolded) {
    const auto folds = [](const char* text) {
        std::set<std::array<int, 2>> found;
        for (const ImplicitGemmTile& tile : implicit_gemm_candidates(parse_layer(text), kHopper, 1'000'000))
            found.insert(tile.fold);
        return found;
    };
    using Folds = std::set<std::array<int, 2>>;
    EXPECT_EQ(folds("n8 c56 o1 in240x320 k9x9 s3 p4 op2"), (Folds{{1, 1}, {1, 3}, {3, 1}, {3, 3}}));
    EXPECT_EQ(folds("n8 c21 o21 in64x64 k16x16 s8 p4").count({8, 8}), 1u);
    EXPECT_EQ(folds("n8 c64 o64 in64x64 k4x4 s2 p1"), (Folds{{1, 1}})) << "many channels";
    EXPECT_EQ(folds("n8 c64 o8 in64x64 k3x3 p1"), (Folds{{1, 1}})) << "no stride";
    EXPECT_EQ(folds("n8 c64 o8 in64x64 k3x3 s2 d2"), (Folds{{1, 1}})) << "a dilation";
    EXPECT_EQ(folds("n16 c32 o64 in128x256 k3x5 s2x3 p1x2 d2x1 g4"), (Folds{{1, 1}, {1, 3}}));
    for (const char* text : {"n8 c56 o1 in240x320 k9x9 s3 p4 op2", "n8 c21 o21 in64x64 k16x16 s8 p4"})
        EXPECT_NE(implicit_gemm_candidates(parse_layer(text), kHopper, 1).front().fold, (std::array{1, 1})) << text;
}

TEST(ImplicitGemm, SumsAreSharedWhereThereAreFewBlocks) {
    const auto splits = [](const char* text) {
        int most = 1;
        for (const ImplicitGemmTile& tile : implicit_gemm_candidates(parse_layer(text), kHopper, 1'000'000))
            most = std::max(most, tile.split);
        return most;
    };
    EXPECT_EQ(splits("n64 c256 o256 in256x256 k4x4 s2 p1"), 1);
    EXPECT_EQ(splits("c256 o256 k4x4 s2 p1"), 1) << "sizes that are not known may be large";
    EXPECT_EQ(splits("n1 c512 o256 in8x8 k4x4 s2 p1"), 16);
    EXPECT_EQ(splits("n1 c32 o16 in8x8 k4x4 s2 p1"), 4) << "chunks to share";
    EXPECT_GT(ImplicitGemmTile::standard(parse_layer("n1 c1024 o512 in8x8 k4x4 s2 p1"), kHopper).split, 1);
}

TEST(ImplicitGemm, ModelKnowsWhatTensorCoresAreGoodFor) {
    const auto cycles = [](const char* text) {
        const Layer layer = parse_layer(text);
        const ImplicitGemmLayer parts = ImplicitGemmLayer::make(layer);
        const ImplicitGemmTile tile = ImplicitGemmTile::standard(layer, kHopper);
        ImplicitGemmResources resources;
        EXPECT_EQ(implicit_gemm_resources(parts, tile, resources), "");
        return implicit_gemm_cycles(parts, Workload::make(layer), tile, resources, kHopper);
    };
    EXPECT_LT(cycles("n8 c64 o64 in512x512 k3x3 tf32"), cycles("n8 c64 o64 in512x512 k3x3"));
    EXPECT_LT(cycles("n8 c64 o64 in512x512 k3x3 f16"), cycles("n8 c64 o64 in512x512 k3x3 tf32"));
    EXPECT_GT(4 * cycles("n8 c64 o1 in512x512 k3x3"), cycles("n8 c64 o16 in512x512 k3x3")) << "one channel takes 16";
}

}  // namespace
}  // namespace convt_jit
