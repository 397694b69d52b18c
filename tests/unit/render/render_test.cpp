#include "render/render.h"

#include "compile/nvrtc.h"
#include "convt_jit/error.h"
#include "plan/implicit_gemm_sm90_resources.h"
#include "render/prologue.h"
#include "render/templates.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

namespace convt_jit {
namespace {

constexpr const char* kLayer = "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias";

Source render_text(const std::string& layer_text, const Arch& arch = {90, 0}, const PlanOptions& options = {}) {
    const Layer layer = parse_layer(layer_text);
    return render(layer, choose(layer, arch, options), arch);
}

TEST(Render, IsDeterministic) { EXPECT_EQ(render_text(kLayer).text, render_text(kLayer).text); }

// Every parameter of a layer and of a plan must reach the source, or two different kernels would share a cache entry.
TEST(Render, EveryParameterChangesTheSource) {
    const char* const variants[] = {
        "c64 o64 k3x5 s2x3 p1x2 d2x1 g4 bias",          "c32 o32 k3x5 s2x3 p1x2 d2x1 g4 bias",
        "c32 o64 k3x4 s2x3 p1x2 d2x1 g4 bias",          "c32 o64 k3x5 s2x2 p1x2 d2x1 g4 bias",
        "c32 o64 k3x5 s2x3 p1x1:1x2 d2x1 g4 bias",      "c32 o64 k3x5 s2x3 p1x2 d1x1 g4 bias",
        "c32 o64 k3x5 s2x3 p1x2 d2x1 g8 bias",          "c32 o64 k3x5 s2x3 p1x2 d2x1 g4",
        "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias f16",      "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias bf16",
        "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias tf32",     "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias nhwc",
        "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias relu",     "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias leaky0.1",
        "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias leaky0.2", "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias gelu",
        "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias clamp0:1", "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias clamp0:2",
        "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias scale2",   "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias scale3",
        "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias affine",   "c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias residual",
        "c32 o64 k1x3x5 s1x2x3 p0x1x2 d1x2x1 g4 bias",  "c32 o64 k3x5 s2x3 p1x2 op1x0 d2x1 g4 bias",
    };
    std::set<std::string> sources = {render_text(kLayer).text};
    for (const char* variant : variants) EXPECT_TRUE(sources.insert(render_text(variant).text).second) << variant;
    const char* const plans[] = {"direct positions=1x2x64",
                                 "direct per_thread=2",
                                 "direct channels=2",
                                 "direct vectors=2",
                                 "direct row_phases=1",
                                 "direct column_phases=1",
                                 "direct chunk=2",
                                 "direct stage_input=0",
                                 "direct stage_weights=0",
                                 "direct partial=32",
                                 "direct unroll=2",
                                 "direct index=64",
                                 "direct exact_nonfinite=1",
                                 "reference",
                                 "reference threads=64",
                                 "implicit_gemm",
                                 "implicit_gemm order=0",
                                 "implicit_gemm join=5",
                                 "implicit_gemm min_blocks=1",
                                 "implicit_gemm_sm90",
                                 "implicit_gemm_sm90 join=7",
                                 "implicit_gemm_sm90 processors=78"};
    for (const char* plan : plans)
        EXPECT_TRUE(sources.insert(render_text(kLayer, {90, 0}, {plan, false}).text).second) << plan;
    EXPECT_TRUE(sources.insert(render_text(kLayer, {80, 0}).text).second);
    for (const char* plan : {"implicit_gemm chunk=8 split=1", "implicit_gemm chunk=8 split=2"})
        EXPECT_TRUE(sources.insert(render_text("c32 o64 k3", {90, 0}, {plan, false}).text).second) << plan;
}

TEST(Render, SizesThatAreGivenAtLaunchDoNotChangeTheSource) {
    EXPECT_EQ(render_text("c4 o4 k3x3 in640x4162").text, render_text("n7 c4 o4 k3x3 in164x8802").text);
    EXPECT_EQ(render_text("c4 o4 k3x3 nhwc in64x64").text, render_text("n7 c4 o4 k3x3 nhwc in64x80").text);
}

TEST(Render, EntryNamesAreIdentifiersOfBoundedLength) {
    const Source source = render_text(
        "c1536 o768 k33x33x33 s11x12x13 p10x11x12:13x14x15 op1x2x3 d4x5x6 g3 bias bf16 nhwc affine residual "
        "leaky0.123456 "
        "clamp-1.5:2.5 scale0.333333");
    EXPECT_LE(source.entry.size(), 120u);
    for (const char c : source.entry)
        EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) || c == '_') << source.entry;
}

TEST(Render, OverrideDirectoryMustHoldAllTemplates) {
    setenv("CONVT_JIT_TEMPLATES", "/nonexistent", 1);
    EXPECT_THROW((void)render_text(kLayer), UnsupportedError);
    unsetenv("CONVT_JIT_TEMPLATES");
    EXPECT_THROW((void)template_text("families/none.cu"), UnsupportedError);
}

// One of each: factors, dimensions, strides, groups, epilogues, weights that stay and weights that come with each
// chunk, teams, rows and tiles that are 8 wide, storers.
TEST(Render, WarpgroupsCompileForHopper) {
    const Nvrtc& nvrtc = Nvrtc::instance();
    for (const auto& [text, plan] : {
             std::pair{"c64 o64 k3x3 bias", "implicit_gemm_sm90"},
             {"n8 c64 o64 in99x99 k3x3 tf32 residual", "implicit_gemm_sm90 positions=2x64 chunk=8 stages=2 resident=1"},
             {"c256 o256 k4 s2 p1 f16 affine gelu", "implicit_gemm_sm90 chunk=16 stages=3"},
             {"c32 o100 k3x3x3 s2 op1 g2 bf16 clamp-1:1", "implicit_gemm_sm90 index=64"},
             {"n4 c64 o64 in4096 k5 p2 residual affine",
              "implicit_gemm_sm90 positions=1x64 groups_m=1 groups_n=1 "
              "teams=2 loaders=1 chunk=8 stages=4 join=3 resident=0 storers=0"},
             {"n4 c20 o70 in16x16 k4x4 s2 p1 g2 bias tf32",
              "implicit_gemm_sm90 positions=16x8 groups_m=1 groups_n=2 "
              "teams=1 loaders=1 chunk=8 stages=2 resident=1"},
             {"n4 c48 o130 in16x40 k3x5 d2x3 bf16 bias silu",
              "implicit_gemm_sm90 positions=4x32 groups_m=2 groups_n=1 "
              "teams=1 loaders=1 chunk=16 stages=2 resident=0"},
             {"n2 c32 o24 in6x6x30 k1x2x2 s1x2x2 f16 residual",
              "implicit_gemm_sm90 positions=2x32 groups_m=1 "
              "groups_n=1 teams=1 loaders=1 chunk=32 stages=3 "
              "min_blocks=2 resident=1 storers=0"},
             {"n4 c40 o70 in16x20 k4x4 s2 p1 bias f16 affine",
              "implicit_gemm_sm90 positions=4x16 groups_m=2 groups_n=1 teams=1 loaders=1 chunk=16 stages=2 resident=0 "
              "storers=1 store_width=8"},
         }) {
        SCOPED_TRACE(std::string(text) + " " + plan);
        const Arch hopper{90, 'a'};
        EXPECT_NO_THROW((void)nvrtc.compile(render_text(text, hopper, {plan, false}), hopper));
    }
}

// Where sources that do not compile are left, which is what is wanted of them here.
struct DumpDirectory {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("convt_render_" + std::to_string(getpid()));
    DumpDirectory() { setenv("CONVT_JIT_DUMP_DIR", path.c_str(), 1); }
    ~DumpDirectory() {
        unsetenv("CONVT_JIT_DUMP_DIR");
        std::filesystem::remove_all(path);
    }
};

// The template works out the same numbers from the same constants. Its kernels are left out: they are what takes time.
TEST(Render, WarpgroupsAndTheirPlansCountTheSame) {
    const Nvrtc& nvrtc = Nvrtc::instance();
    const Arch hopper{90, 'a'};
    for (const char* text :
         {"n8 c64 o64 in1024x1024 k3x3 bias", "n8 c64 o100 in99x99 k3x3 tf32 residual", "c256 o256 k4 s2 p1 f16",
          "n3 c32 o100 in5x9x40 k3x4x5 s2x3x2 p1 g2 bf16", "n1 c33 o48 in7x18 k4x4 s2 p1", "n2 c24 o132 in300 k3 d2",
          "n1 c64 o64 in70 k16 s8 p4 tf32", "n1 c32 o24 in64x64 k3x5 d2x1 tf32",
          "n1 c40 o20 in20x17 k2x2 s3x5 d3x2 f16"}) {
        const Layer layer = parse_layer(text);
        const ImplicitGemmLayer parts = ImplicitGemmLayer::make(layer);
        const auto tiles = implicit_gemm_sm90_candidates(layer, hopper, 100'000);
        ASSERT_FALSE(tiles.empty()) << text;
        for (std::size_t i = 0; i < 5; ++i) {  // from the best to the worst
            const ImplicitGemmSm90Tile tile = tiles[i * (tiles.size() - 1) / 4];
            const Plan plan{tile};
            SCOPED_TRACE(std::string(text) + " " + to_string(plan));
            ImplicitGemmSm90Resources r;
            ASSERT_EQ(implicit_gemm_sm90_resources(parts, tile, hopper, r), "");
            Source source = render(layer, plan, hopper);
            const std::size_t kernel = source.text.find("extern \"C\" __global__");
            ASSERT_NE(kernel, std::string::npos);
            source.text.resize(kernel);
            const auto expect = [&](const char* constant, std::int64_t value) {
                source.text += fmt::format("static_assert({0} == {1}, \"{0}\");\n", constant, value);
            };
            expect("SHARED_BYTES", static_cast<std::int64_t>(tile.shared_bytes(layer)));
            expect("(long long)WEIGHT_SETS * WEIGHT_SET * 16", tile.packed_bytes(layer));
            expect("THREADS", tile.threads(layer));
            expect("8 * RUN_TILES", tile.columns());
            expect("RUNS", r.runs);
            expect("STEPS", r.steps);
            expect("PARTS", r.parts);
            expect("DEPTH_CHUNKS", r.chunks);
            expect("TILE_H", r.tile_height);
            expect("TILE_W", r.tile_width);
            expect("WEIGHT_STAGE * 16", r.weight_stage);
            expect("EVEN_REGISTERS < 256 ? EVEN_REGISTERS : 255", r.registers);
            expect("SQUADS", r.squads);
            expect("BATCHES", r.batches);
            expect("HELD", r.held);
            expect("BLOCK_CHANNELS", r.block_channels);
            expect("ROW_STEP", r.row_step);
            expect("TAPS_H", r.row_taps);
            expect("SET_TAPS_H", r.set_row_taps);
            expect("ROW_PHASES", r.row_phases);
            EXPECT_NO_THROW((void)nvrtc.compile(source, hopper));
            source.text += "static_assert(THREADS == 1, \"is told\");\n";
            if (i != 0) continue;
            const DumpDirectory dumps;
            EXPECT_THROW((void)nvrtc.compile(source, hopper), CompileError);
        }
    }
}

// What NVRTC makes of it, for every dtype, layout and epilogue and the oldest and newest archs.
TEST(Render, CompilesForEveryArch) {
    const Nvrtc& nvrtc = Nvrtc::instance();
    const char* const layers[] = {kLayer,
                                  "c3 o5 k4 s2 p1 f16 affine gelu clamp-1:1",
                                  "c6 o4 k3x3x3 s2x2x2 op1x1x1 g2 bf16 nhwc bias residual silu",
                                  "c1 o1 k4096 s1024 hardswish",
                                  "c9 o11 k12x84 p12x12 sigmoid scale0.5",
                                  "c2 o2 k3 d100000 tanh"};
    for (const Arch& arch : {nvrtc.archs().front(), Arch{80, 0}, Arch{90, 0}, nvrtc.archs().back()}) {
        if (arch.number < 75) continue;
        for (const char* text : layers) {
            SCOPED_TRACE(std::string(text) + " " + to_string(arch));
            EXPECT_NO_THROW((void)nvrtc.compile(render_text(text, arch), arch));
        }
    }
    for (const Arch& arch : {Arch{80, 0}, Arch{90, 0}, nvrtc.archs().back()})
        for (const char* text : {"c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias", "c64 o64 k3x3 tf32 residual",
                                 "c20 o40 k4 s2 p1 f16 affine gelu", "c32 o16 k3x3x3 s1x2x2 op0x1x1 bf16"}) {
            SCOPED_TRACE(std::string(text) + " " + to_string(arch));
            EXPECT_NO_THROW((void)nvrtc.compile(render_text(text, arch, {"implicit_gemm", false}), arch));
        }
    for (const char* text : {"c64 o64 k3x5 s2x3 bias residual", "c64 o40 k4 s2 p1 f16 affine gelu"}) {
        SCOPED_TRACE(text);
        const PlanOptions shared{"implicit_gemm chunk=16 stages=2 split=2", false};
        EXPECT_NO_THROW((void)nvrtc.compile(render_text(text, {90, 0}, shared), {90, 0}));
    }
    // The other families and the rare options on one arch: what differs between archs is in the pieces that all share.
    const Arch hopper{90, 0};
    for (const char* text : layers)
        for (const char* plan : {"reference", "direct", "direct index=64 exact_nonfinite=1"}) {
            SCOPED_TRACE(std::string(text) + " " + plan);
            EXPECT_NO_THROW((void)nvrtc.compile(render_text(text, hopper, {plan, false}), hopper));
        }
}

}  // namespace
}  // namespace convt_jit
