#include "plan/implicit_gemm_sm90.h"

#include "convt_jit/error.h"
#include "plan/geometry.h"
#include "plan/implicit_gemm_sm90_resources.h"
#include "plan/plan.h"
#include "plan/shared_limit.h"
#include "plan/volume.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

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
        const auto all = implicit_gemm_sm90_candidates(layer, kHopper, 100'000);
        const auto plain = std::find_if(all.begin(), all.end(), [](const auto& tile) { return tile.fold == 1; });
        EXPECT_EQ(*plain, ImplicitGemmSm90Tile::standard(layer, kHopper)) << text;
    }
}

TEST(ImplicitGemmSm90, HasNoneWhereItServesNothing) {
    for (const Arch& arch : {Arch{80, 0}, Arch{89, 0}, Arch{100, 'a'}, Arch{120, 0}}) {
        const Layer layer = parse_layer(kLayers[0]);
        EXPECT_TRUE(implicit_gemm_sm90_candidates(layer, arch, 50).empty()) << to_string(arch);
        EXPECT_NE(ImplicitGemmSm90Tile::standard(layer, arch).unsupported(layer, arch, false), "") << to_string(arch);
        EXPECT_TRUE(std::isinf(ImplicitGemmSm90Tile{}.modelled_cycles(layer, arch))) << to_string(arch);
        EXPECT_FALSE(std::holds_alternative<ImplicitGemmSm90Tile>(choose(layer, arch).tile)) << to_string(arch);
    }
    for (const char* text :
         {"n8 c64 o64 in1024x1024 k3x3 bias tf32 nhwc", "n8 c64 o64 in64x64 k3x33", "n8 c64 o64 in64x64 k3x3 s1x33"}) {
        const Layer layer = parse_layer(text);
        EXPECT_TRUE(implicit_gemm_sm90_candidates(layer, kHopper, 50).empty()) << text;
        EXPECT_FALSE(std::holds_alternative<ImplicitGemmSm90Tile>(choose(layer, kHopper).tile)) << text;
    }
}

// Of all families the default choice comes first, then each family's best; each of them is taken back as it is printed.
TEST(ImplicitGemmSm90, IsAmongTheCandidatesOfTheLayer) {
    for (const char* text : kLayers) {
        const Layer layer = parse_layer(text);
        const std::vector<Plan> plans = candidates(layer, kHopper, 4);
        EXPECT_EQ(plans.front(), choose(layer, kHopper)) << text;
        std::vector<ImplicitGemmSm90Tile> own;
        for (const Plan& plan : plans) {
            EXPECT_EQ(choose(layer, kHopper, {to_string(plan), false}), plan) << text;
            if (const auto* tile = std::get_if<ImplicitGemmSm90Tile>(&plan.tile)) own.push_back(*tile);
        }
        EXPECT_EQ(own, implicit_gemm_sm90_candidates(layer, kHopper, 4)) << text;
        for (const Plan& plan : candidates(layer, kHopper, 4, {"", true}))
            EXPECT_FALSE(std::holds_alternative<ImplicitGemmSm90Tile>(plan.tile)) << text;
    }
}

TEST(ImplicitGemmSm90, IsTakenWhereItIsModelledQuickest) {
    for (const char* text : kLayers) {
        const Layer layer = parse_layer(text);
        const double own = ImplicitGemmSm90Tile::standard(layer, kHopper).modelled_cycles(layer, kHopper);
        const double others = std::min(UnrolledTile::standard(layer, kHopper).modelled_cycles(layer, kHopper),
                                       ImplicitGemmTile::standard(layer, kHopper).modelled_cycles(layer, kHopper));
        EXPECT_EQ(std::holds_alternative<ImplicitGemmSm90Tile>(choose(layer, kHopper).tile), own < others) << text;
    }
    const auto family = [](const char* text) { return family_name(choose(parse_layer(text), kHopper)); };
    EXPECT_EQ(family("n8 c64 o64 in1024x1024 k3x3 bias"), "implicit_gemm_sm90");
    EXPECT_EQ(family("n64 c128 o128 in65536 k3 bias f16"), "implicit_gemm_sm90");
    EXPECT_NE(family("n8 c7 o512 in1024x1024 k3x3 tf32"), "implicit_gemm_sm90") << "too few channels to sum";
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
    "resident=0 processors=132 fold=1";

std::string with(const std::string& key, const std::string& value) {
    std::string plan = kFits;
    const std::size_t at = plan.find(" " + key + "=") + key.size() + 2;
    return plan.replace(at, std::min(plan.find(' ', at), plan.size()) - at, value);
}

TEST(ImplicitGemmSm90, RefusalsSayWhy) {
    const char* layer = "n1 c64 o64 in64x256 k3x3 tf32";
    EXPECT_EQ(refusal(layer, kFits), "accepted");
    EXPECT_EQ(refusal(layer, kFits, Arch{80, 0}), "implicit_gemm_sm90 needs sm_90a, not sm_80");
    EXPECT_EQ(refusal(layer, kFits, Arch{100, 'a'}), "implicit_gemm_sm90 needs sm_90a, not sm_100a");
    EXPECT_EQ(refusal(layer, kFits, kHopper, true),
              "implicit_gemm_sm90 multiplies weights by the zeros beyond the input");
    EXPECT_EQ(refusal("n1 c64 o64 in64x256 k3x3 tf32 nhwc", kFits), "implicit_gemm serves channels-first tensors");
    EXPECT_EQ(refusal(layer, with("groups_m", "5").c_str()), "more than 4 warpgroups multiply");
    EXPECT_EQ(refusal(layer, with("loaders", "3").c_str()), "more than 2 warpgroups load");
    EXPECT_EQ(refusal(layer, with("resident", "2").c_str()), "resident is 2, allowed: 0 and 1");
    EXPECT_EQ(refusal(layer, with("stages", "1").c_str()), "stages is 1, allowed: 2 to 4096")
        << "it would wait forever";
    EXPECT_EQ(refusal(layer, with("fold", "0").c_str()), "fold is 0, allowed: 1 to 64");
    EXPECT_EQ(refusal(layer, with("fold", "9").c_str()), "fold 9 leaves less than 8 channels of 64 rows");
    EXPECT_EQ(refusal("n1 c64 o64 in64x256 k3x3 s3x1", with("fold", "2").c_str()),
              "fold 2 is no multiple of the stride 3 along height");
    const std::string images = std::string(kFits) + " images=";
    EXPECT_EQ(refusal(layer, (images + "2").c_str()), "accepted");
    EXPECT_EQ(refusal(layer, (images + "0").c_str()), "images is 0, allowed: 1 to 64 that divide positions (height) 2");
    EXPECT_EQ(refusal(layer, (images + "3").c_str()), "images is 3, allowed: 1 to 64 that divide positions (height) 2");
    EXPECT_EQ(refusal(layer, (with("fold", "2") + " images=2").c_str()),
              "images share no tile where a position is several steps of the stride");
    EXPECT_EQ(refusal(layer, with("chunk", "12").c_str()), "chunk is 12, allowed: multiples of 8");
    EXPECT_EQ(refusal(layer, with("positions", "2x100").c_str()), "positions (width) is 100, allowed: multiples of 8");
    EXPECT_EQ(refusal("n1 c64 o64 in64x256 k3x3 f16", kFits), "chunk is 8, allowed: multiples of 16");
    EXPECT_EQ(refusal(layer, with("positions", "1x24").c_str()),
              "groups_n is 2, allowed: divisors of the 3 times 8 positions");
    EXPECT_EQ(refusal(layer, with("positions", "3x16").c_str()),
              "a warpgroup has 3 times 8 positions of rows of 2: neither a part of a row nor whole rows");
    EXPECT_EQ(refusal(layer, with("positions", "2x512").c_str()), "a product has 512 columns, allowed: up to 256");
    EXPECT_EQ(refusal(layer, with("positions", "8x128").c_str()), "a thread has 256 sums, allowed: up to 200");
    // 232 registers of two warpgroups leave little of 3 x 168.
    std::string wide = with("positions", "6x128");
    wide.replace(wide.find("loaders=2"), 9, "loaders=1");
    EXPECT_EQ(refusal(layer, wide.c_str()), "a thread that loads has 40 registers, needed: 56");
    EXPECT_EQ(refusal(layer, with("positions", "2x256").c_str()),
              "a product has 128 sums of a thread with 128 registers");
    EXPECT_EQ(refusal("n1 c64 o64 in64x256 k1x16", with("positions", "8x16").c_str()),
              "more than 96 matrix products are unrolled");
    EXPECT_NE(refusal(layer, with("stages", "40").c_str()).find("bytes of shared memory"), std::string::npos);
    EXPECT_NE(refusal("n1 c256 o64 in64x256 k3x3 tf32", with("resident", "1").c_str()).find("bytes of shared memory"),
              std::string::npos);
}

TEST(ImplicitGemmSm90, WeightsAreNoMoreThanAGpuHolds) {
    EXPECT_EQ(refusal("n1 c1048576 o1048576 k1 tf32", kFits),
              "the packed weights take 4398046511104 bytes, allowed: up to 549755813888");
    EXPECT_EQ(refusal("n1 c1048576 o64 k128x1x1 tf32", kFits),
              "a tile needs 34359738368 bytes of packed weights, allowed: less than 34359738368");
    EXPECT_EQ(refusal("n1 c1048576 o64 k127x1x1 tf32", kFits), "accepted");
    for (const char* text : {"c1048576 o1048576 k1", "c1048576 o64 k200x1x1"})
        EXPECT_NE(family_name(choose(parse_layer(text), kHopper)), "implicit_gemm_sm90") << text;
}

TEST(ImplicitGemmSm90, ResourcesAreCountedAsInTheTemplate) {
    const Layer layer = parse_layer("n3 c64 o100 in64x256 k3x3 tf32");
    ImplicitGemmSm90Tile tile;
    tile = {{2, 128}, 1, 2, 1, 2, 8, 3, 2, 1, 0, 132};
    // A stage: 2 halves of 4 x 130 pixels, and 9 taps of 2 halves of 64 channels, 16 bytes each. A slab: strips of
    // 8 channels, 128 outputs, 8 banks apart.
    const std::size_t input = 2 * 4 * 130 * 16, weights = 9 * 2 * 64 * 16, slab = 8 * (128 + 8) * 4;
    EXPECT_EQ(tile.shared_bytes(layer), 3 * (input + weights) + 8 * slab + 3 * 16 + 8 + 8);
    EXPECT_EQ(tile.packed_bytes(layer), static_cast<std::int64_t>(2 * 8 * weights));  // blocks of channels, chunks
    EXPECT_EQ(tile.threads(layer), 512);
    tile.resident = 1;
    tile.stages = 2;
    EXPECT_EQ(tile.shared_bytes(layer), 2 * input + 8 * weights + 8 * slab + 2 * 16 + 8 + 8);
}

TEST(ImplicitGemmSm90, ResourcesOfSplitFactorsAndTallTiles) {
    // 65 channels of a group; column offsets -1 to 1; 2 row taps of a phase, one row apart.
    const Layer layer = parse_layer("n1 c20 o130 in9x7 k4x4 s2 p1 g2");
    ImplicitGemmSm90Tile tile;
    tile = {{16, 8}, 1, 2, 1, 1, 8, 2, 2, 1, 0, 132};
    ASSERT_EQ(tile.unsupported(layer, kHopper, false), "");
    EXPECT_EQ(tile.columns(), 64) << "half of the tile's rows";
    // Both halves of a factor are there: 2 parts of 2 cells. A slab: strips of 8 channels, of 16 outputs each and 4
    // rows.
    const std::size_t input = 2 * 2 * 17 * 10 * 16, weights = 2 * 4 * 2 * 2 * 64 * 16, slab = 8 * 4 * 16 * 4;
    EXPECT_EQ(tile.shared_bytes(layer), 2 * (input + weights) + 8 * slab + 2 * 16 + 8 + 8);
    // Groups, blocks of channels, row phases, chunks.
    EXPECT_EQ(tile.packed_bytes(layer), static_cast<std::int64_t>(2 * 2 * 2 * 2 * weights));
    EXPECT_EQ(tile.threads(layer), 384);
    // With a residual: pieces of 8 channels of 128 sums, 16 banks apart.
    const Layer added = parse_layer("n1 c20 o130 in9x7 k4x4 s2 p1 g2 residual");
    EXPECT_EQ(tile.shared_bytes(added), tile.shared_bytes(layer) + 8 * (8 * (128 + 16) * 4 - slab));
}

TEST(ImplicitGemmSm90, ResourcesOfVolumes) {
    const Layer layer = parse_layer("n3 c40 o24 in4x9x50 k3x5x2 s1x2x1 f16");
    ImplicitGemmSm90Tile tile;
    tile = {{3, 48}, 1, 3, 1, 1, 32, 3, 2, 1, 0, 4096};
    ASSERT_EQ(tile.unsupported(layer, kHopper, false), "");
    EXPECT_EQ(tile.columns(), 48) << "a row";
    // 2 steps of 2 cells; 5 rows of 49 pixels, and one more since pixels come in pairs; 3 row taps of a phase and 2
    // column taps. A slab: strips of 8 channels, of 48 outputs.
    const std::size_t input = 2 * 2 * 5 * 50 * 16, weights = 3 * 2 * 2 * 2 * 64 * 16, slab = 8 * 48 * 2;
    EXPECT_EQ(tile.shared_bytes(layer), 3 * (input + weights) + 12 * slab + 3 * 16 + 8 + 8);
    EXPECT_EQ(tile.packed_bytes(layer), static_cast<std::int64_t>(2 * 3 * 2 * weights));  // row phases, depth, chunks
    EXPECT_EQ(tile.grid(layer, known_shape(layer)).x, 2 * 4 * 6 * 3 * 2) << "of 6x21x51 outputs of 3 samples, 2 phases";
    tile.resident = 1;
    ASSERT_EQ(tile.unsupported(layer, kHopper, false), "");
    EXPECT_EQ(tile.shared_bytes(layer), 3 * input + 3 * 2 * weights + 12 * slab + 3 * 16 + 8 + 8);
    EXPECT_EQ(tile.packed_bytes(layer), static_cast<std::int64_t>(2 * 3 * 2 * weights)) << "wherever they are kept";
    tile.stages = 5;
    EXPECT_NE(tile.unsupported(layer, kHopper, false), "") << "two stages more, and one than there is room for";
}

// Small images share tiles, and offsets are then counted through several.
TEST(ImplicitGemmSm90, ImagesShareTiles) {
    const Layer layer = parse_layer("n10 c24 o40 in5x6 k4x4 s2 p1 tf32");
    ImplicitGemmSm90Tile tile;
    tile = {{20, 8}, 1, 1, 1, 1, 8, 2, 2, 1, 0, 4096};
    tile.images = 4;
    ASSERT_EQ(tile.unsupported(layer, kHopper, false), "");
    EXPECT_EQ(tile.grid(layer, known_shape(layer)).x, 3 * 2) << "row phases";
    ImplicitGemmSm90Resources resources;
    EXPECT_EQ(implicit_gemm_sm90_resources(ImplicitGemmLayer::make(layer), tile, kHopper, resources), "");
    EXPECT_EQ(resources.tile_height, 4 * 6) << "two row taps";
    bool several = false;
    for (const ImplicitGemmSm90Tile& found : implicit_gemm_sm90_candidates(layer, kHopper, 100'000))
        several = several || found.images > 1;
    EXPECT_TRUE(several);
    for (const ImplicitGemmSm90Tile& found :
         implicit_gemm_sm90_candidates(parse_layer("n10 c24 o40 in50x60 k4x4 s2 p1"), kHopper, 100'000))
        EXPECT_EQ(found.images, 1);

    const Plan alone = choose(parse_layer("c24 o40 k3x3 p1 tf32"), kHopper, {kFits, false});
    Plan shared = alone;
    std::get<ImplicitGemmSm90Tile>(shared.tile).images = 2;
    const Layer large = parse_layer("c24 o40 k3x3 p1 tf32");
    EXPECT_NO_THROW(check_index_width(large, alone, {4, {6000, 6000}}));
    EXPECT_THROW(check_index_width(large, shared, {4, {6000, 6000}}), LayerError);
    EXPECT_NO_THROW(check_index_width(large, shared, {4, {5000, 5000}}));
}

// Teams give back stages in an order of their own: all turns of a stage are one squad's then.
TEST(ImplicitGemmSm90, SquadsOfTeamsKeepTheirStages) {
    const Layer layer = parse_layer("n8 c64 o64 in512x512 k3x7 bias f16");
    const auto squads = [&](int teams, int stages) {
        ImplicitGemmSm90Tile tile;
        tile = {{1, 104}, 1, 1, teams, 2, 16, stages, 2, 1, 1, 132};
        ImplicitGemmSm90Resources resources;
        EXPECT_EQ(implicit_gemm_sm90_resources(ImplicitGemmLayer::make(layer), tile, kHopper, resources), "");
        return resources.squads;
    };
    EXPECT_EQ(squads(1, 3), 2);
    EXPECT_EQ(squads(2, 3), 1);
    EXPECT_EQ(squads(2, 2), 2);
}

// 260 outputs are 3 tiles of 88; a vocoder's lengths share few kernels.
TEST(ImplicitGemmSm90, TilesFitRows) {
    EXPECT_EQ(
        ImplicitGemmSm90Tile::standard(parse_layer("n64 c64 o128 in128x256 k3x5 bias tf32"), kHopper).positions[1], 88);
    std::set<std::string> plans;
    for (int length = 16; length <= 2000; length += 8)
        plans.insert(to_string(choose(parse_layer("n1 c512 o256 k16 s8 p4 f16 in" + std::to_string(length)), kHopper)));
    EXPECT_LE(plans.size(), 24u);
}

TEST(ImplicitGemmSm90, ResourcesOfFoldedTiles) {
    // 96 of the 128 rows of a product are 6 output rows times 16 channels.
    const Layer layer = parse_layer("n3 c8 o40 in7x30 k4x1 s3x1 p1x0 tf32");
    ImplicitGemmSm90Tile tile;
    tile = {{2, 32}, 2, 1, 1, 1, 8, 2, 2, 1, 0, 132, 6};
    ASSERT_EQ(tile.unsupported(layer, kHopper, false), "");
    EXPECT_EQ(tile.block_channels(40), 16);
    // o + 1 - k from -2 to 6, in steps of 3: input rows 0 to 2. A step of 2 input rows to the next position.
    // A slab: 2 strips of 32 outputs of 8 channels, 32 bytes between them.
    const std::size_t input = 2 * (2 + 3) * 32 * 16, weights = 3 * 2 * 128 * 16, slab = 8 * 2 * (32 * 4 + 32);
    EXPECT_EQ(tile.shared_bytes(layer), 2 * (input + weights) + 8 * slab + 2 * 16 + 8 + 8);
    EXPECT_EQ(tile.packed_bytes(layer), static_cast<std::int64_t>(3 * weights));  // blocks of channels
    // 20 output rows are 4 positions of 6, so 2 tiles.
    EXPECT_EQ(tile.grid(layer, known_shape(layer)).x, 2 * 3 * 3);
}

TEST(ImplicitGemmSm90, ResidentWeightsMakeTheGridAMultipleOfTheirSets) {
    for (const char* text : kLayers) {
        const Layer layer = parse_layer(text);
        const Shape shape = layer.input.empty() ? Shape{3, {77, 88}} : known_shape(layer);
        for (ImplicitGemmSm90Tile tile : implicit_gemm_sm90_candidates(layer, kHopper, 200)) {
            const std::int64_t sets = ceil_div(layer.out_channels, tile.block_channels(layer.out_channels)) *
                                      tile.row_phases(axes_3d(layer)[1].stride);
            for (const int processors : {1, 78, 114, 132}) {
                tile.processors = processors;
                const Grid grid = tile.grid(layer, shape);
                EXPECT_EQ(std::pair(grid.y, grid.z), std::pair(std::int64_t{1}, std::int64_t{1}));
                EXPECT_GE(grid.x, 1);
                EXPECT_LE(grid.x, std::max<std::int64_t>(sets, processors * tile.min_blocks));
                if (tile.resident == 1) {
                    EXPECT_EQ(grid.x % sets, 0) << text << ": " << grid.x << " blocks";
                }
            }
        }
    }
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
    tile.resident = 0;
    EXPECT_EQ(tile.grid(layer, small).x, 2);
    tile.min_blocks = 2;
    EXPECT_EQ(tile.grid(layer, small).x, 4);
}

}  // namespace
}  // namespace convt_jit
