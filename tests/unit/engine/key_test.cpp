// Every parameter of a layer and of a plan is part of the key, and nothing else is.
#include "cache/key.h"

#include "convt_jit/convt_jit.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace convt_jit {
namespace {

constexpr const char* kLayer = "c8 o8 k3x4 s2x3 p1x1 d1x2 g2 bias f32";

class KeyTest : public ::testing::Test {
protected:
    // The key that a lookup asks for; reports whom it collides with.
    void expect_new(const std::string& what, const Layer& layer, const PrepareOptions& options = {},
                    const std::string& arch = "sm_90") {
        const auto [other, added] = seen_.emplace(key(layer, options, arch), what);
        EXPECT_TRUE(added) << "\"" << what << "\" has the key of \"" << other->second << "\"";
    }
    static std::string key(const Layer& layer, const PrepareOptions& options = {}, const std::string& arch = "sm_90") {
        const CacheWanted wanted = Engine::wanted(layer, arch, options);
        const CacheKey& f = wanted.fields;
        return digest(KeyFields{f.source, f.options, f.arch, "nvrtc 13.0.88", f.format});
    }

private:
    sample::Scratch scratch_;
    sample::Variable directory_{"CONVT_JIT_CACHE_DIR", scratch_ / "c"};
    std::map<std::string, std::string> seen_;
};

TEST_F(KeyTest, EveryParameterOfALayer) {
    for (const char* text : {kLayer,  //
                             "c10 o8 k3x4 s2x3 p1x1 d1x2 g2 bias f32",
                             "c8 o10 k3x4 s2x3 p1x1 d1x2 g2 bias f32",  // channels
                             "c8 o8 k3x4 s2x3 p1x1 d1x2 g4 bias f32",   // groups
                             "c8 o8 k2x4 s2x3 p1x1 d1x2 g2 bias f32",
                             "c8 o8 k3x5 s2x3 p1x1 d1x2 g2 bias f32",  // kernel
                             "c8 o8 k3x4 s1x3 p1x1 d1x2 g2 bias f32",
                             "c8 o8 k3x4 s2x2 p1x1 d1x2 g2 bias f32",  // stride
                             "c8 o8 k3x4 s2x3 p0x1:1x1 d1x2 g2 bias f32",
                             "c8 o8 k3x4 s2x3 p1x0:1x1 d1x2 g2 bias f32",  // begin
                             "c8 o8 k3x4 s2x3 p1x1:0x1 d1x2 g2 bias f32",
                             "c8 o8 k3x4 s2x3 p1x1:1x0 d1x2 g2 bias f32",  // end
                             "c8 o8 k3x4 s2x3 p1x1 d2x2 g2 bias f32",
                             "c8 o8 k3x4 s2x3 p1x1 d1x1 g2 bias f32",  // dilation
                             "c8 o8 k3x4 s2x3 p1x1 d1x2 op1x0 g2 bias f32",
                             "c8 o8 k3x4 s2x3 p1x1 d1x2 op0x1 g2 bias f32",  // output
                             "c8 o8 k3x4 s2x3 p1x1 d1x2 g2 f32",             // bias
                             "c8 o8 k3x4 s2x3 p1x1 d1x2 g2 bias f16",
                             "c8 o8 k3x4 s2x3 p1x1 d1x2 g2 bias bf16",      // dtype
                             "c8 o8 k3x4 s2x3 p1x1 d1x2 g2 bias tf32",      // precision
                             "c8 o8 k3x4 s2x3 p1x1 d1x2 g2 bias f32 nhwc",  // layout
                             "c8 o8 k3 s2 p1 g2 bias f32",
                             "c8 o8 k1x3x4 s1x2x3 p0x1x1 d1x1x2 g2 bias f32"})  // rank
        expect_new(text, parse_layer(text));
}

TEST_F(KeyTest, EveryParameterOfAnEpilogue) {
    const Layer base = parse_layer(kLayer);
    expect_new("none", base);
    const auto with = [&](const std::string& what, const auto& change) {
        Layer layer = base;
        change(layer.epilogue);
        expect_new(what, layer);
    };
    for (const Activation activation : {Activation::relu, Activation::leaky_relu, Activation::gelu, Activation::tanh,
                                        Activation::sigmoid, Activation::silu, Activation::hardswish})
        with(std::string(to_string(activation)), [&](Epilogue& e) { e.activation = activation; });
    with("slope", [](Epilogue& e) { e.activation = Activation::leaky_relu, e.negative_slope = 0.02f; });
    with("scale 2", [](Epilogue& e) { e.scale = 2.0f; });
    with("scale, next float", [](Epilogue& e) { e.scale = std::nextafter(2.0f, 3.0f); });
    with("affine", [](Epilogue& e) { e.affine = true; });
    with("residual", [](Epilogue& e) { e.residual = true; });
    with("clamp", [](Epilogue& e) { e.clamp = {0.0f, 6.0f}; });
    with("clamp, low", [](Epilogue& e) { e.clamp = {-1.0f, 6.0f}; });
    with("clamp, high", [](Epilogue& e) { e.clamp = {0.0f, 5.0f}; });
}

TEST_F(KeyTest, EveryParameterOfAPlan) {
    const Layer layer = parse_layer(kLayer);
    const std::string base =
        "direct positions=1x2x32 per_thread=2 channels=2 vectors=1 row_phases=1 column_phases=1 chunk=4 stage_input=1 "
        "stage_weights=1 partial=64 unroll=4 index=32 exact_nonfinite=0";
    const auto changed = [&](const std::string& word) {
        const std::string name = word.substr(0, word.find('=') + 1);
        const auto begin = base.find(" " + name) + 1;
        return base.substr(0, begin) + word + base.substr(std::min(base.find(' ', begin), base.size()));
    };
    const auto forced = [](const std::string& plan) {
        PrepareOptions options;
        options.plan = plan;
        return options;
    };
    expect_new("base", layer, forced(base));
    for (const char* word : {"positions=2x2x16", "positions=1x1x32", "positions=1x2x16", "per_thread=1", "channels=4",
                             "vectors=2", "row_phases=2", "column_phases=2", "chunk=2", "stage_input=0",
                             "stage_weights=0", "partial=32", "unroll=2", "index=64", "exact_nonfinite=1"}) {
        expect_new(word, layer, forced(changed(word)));
        EXPECT_EQ(Engine::wanted(layer, "sm_90", forced(changed(word))).plan, changed(word));
    }
    expect_new("family", layer, forced("reference"));
    expect_new("threads", layer, forced("reference threads=64"));
}

TEST_F(KeyTest, TheArch) {
    const Layer layer = parse_layer(kLayer);
    for (const char* arch : {"sm_80", "sm_86", "sm_90", "sm_120"}) expect_new(arch, layer, {}, arch);
}

TEST_F(KeyTest, LargeSizesAndTheBatchAreAllAlike) {
    const std::string key_of_any_size = key(parse_layer(kLayer));
    // in200x301 has rows of 905 floats, which do not start where 16 bytes do: lines are stored wherever they begin.
    for (const char* sizes : {"n1 in200x302 ", "n64 in200x302 ", "in1000x702 ", "in200x301 "})
        EXPECT_EQ(key(parse_layer(sizes + std::string(kLayer))), key_of_any_size) << sizes;
    EXPECT_NE(key(parse_layer("n1 in4x4 " + std::string(kLayer))), key_of_any_size)
        << "a small image has smaller tiles";
}

TEST_F(KeyTest, TheSlopeOnlyWhereItIsUsed) {
    Layer layer = parse_layer(kLayer);
    const std::string before = key(layer);
    layer.epilogue.negative_slope = 0.5f;
    EXPECT_EQ(key(layer), before);
}

TEST_F(KeyTest, WhatALookupAsksFor) {
    const Layer layer = parse_layer(kLayer);
    EngineOptions options;
    options.cache_dir = Cache().directory();
    const KernelInfo made = Engine(options).compile(layer, "sm_90a");
    const CacheWanted wanted = Engine::wanted(layer, "sm_90a");
    const CacheExplanation explained = Cache().explain(wanted);
    ASSERT_TRUE(explained.hit);
    EXPECT_EQ(explained.key, made.key);
    EXPECT_EQ(explained.hit->key, made.key);
    EXPECT_EQ(explained.hit->layer, wanted.layer);
    EXPECT_EQ(explained.hit->plan, wanted.plan);
    EXPECT_FALSE(Cache().explain(Engine::wanted(layer, "sm_80")).hit);
}

}  // namespace
}  // namespace convt_jit
