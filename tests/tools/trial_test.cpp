#include "subject/trial.h"

#include <gmock/gmock.h>

namespace convt_jit::tools::test {
namespace {

TEST(ClearlyBehind, TheMorePairsTheLess) {
    EXPECT_FALSE(clearly_behind({}, {}));
    EXPECT_FALSE(clearly_behind({1.4}, {1}));
    EXPECT_TRUE(clearly_behind({1.6}, {1}));
    EXPECT_TRUE(clearly_behind({1.4, 1.3}, {1, 1}));
    EXPECT_FALSE(clearly_behind({1.4, 1.1}, {1, 1}));
    EXPECT_TRUE(clearly_behind({1.1, 1.1, 1.1, 1.1}, {1, 1, 1, 1}));
    EXPECT_TRUE(clearly_behind(std::vector<double>(8, 1.04), std::vector<double>(8, 1)));
    EXPECT_FALSE(clearly_behind(std::vector<double>(27, 1.02), std::vector<double>(27, 1)));
}

TEST(ClearlyBehind, NoneThatWasOnceAsFast) {
    std::vector<double> ms(27, 2);
    ms[3] = 0.99;
    EXPECT_FALSE(clearly_behind(ms, std::vector<double>(27, 1)));
}

// All that surrounds a launch, on the simulator.
class Judged : public ::testing::Test {
protected:
    [[nodiscard]] static Trial trial(Engine& engine, const std::string& layer) {
        const Device device = Device::simulator();
        return {engine, device, parse_layer(layer), Buffer(device, 64), WeightsAre::constant, Launching::replayed};
    }
    [[nodiscard]] static Kernel kernel(Engine& engine, const std::string& layer) {
        PrepareOptions options;
        options.device = Device::simulator();
        options.plan = "direct";
        return engine.prepare(parse_layer(layer), options);
    }
};

TEST_F(Judged, RightInAllDtypes) {
    for (const char* dtype : {"f32", "f16", "bf16"}) {
        const std::string layer = std::string("n3 c2 o3 in9x7 k3x3 s2 bias ") + dtype;
        Engine engine;
        Trial on = trial(engine, layer);
        const Errors errors = on.judge(kernel(engine, layer));
        EXPECT_EQ(errors.wrong_nonfinite, 0) << dtype;
        EXPECT_LE(errors.rel_l2, tolerance(parse_layer(layer))) << dtype;
        EXPECT_GT(errors.max_abs, 0) << dtype;
    }
}

TEST_F(Judged, WhatWasNotWrittenIsWrong) {
    // Another layer's kernel leaves the last rows as they were.
    Engine engine;
    Trial on = trial(engine, "n2 c2 o2 in8x8 k3x3 f32");
    const Errors errors = on.judge(kernel(engine, "n2 c2 o2 in8x8 k2x3 f32"));
    EXPECT_GT(errors.wrong_nonfinite, 0);
    EXPECT_FALSE(errors.rel_l2 <= 1);
}

TEST_F(Judged, TimedByReplays) {
    const char* const layer = "n1 c1 o1 in4 k3 f32";
    Engine engine;
    Trial on = trial(engine, layer);
    Trial::Timed a(on, kernel(engine, layer)), b(on, kernel(engine, layer));
    const Trial::Pairs pairs = Trial::compare(a, b, 3);
    EXPECT_EQ(pairs.ms.size(), pairs.against_ms.size());
    EXPECT_GE(pairs.ms.size(), 1u);
}

}  // namespace
}  // namespace convt_jit::tools::test
