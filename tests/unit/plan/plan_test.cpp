#include "plan/plan.h"

#include "convt_jit/error.h"

#include <gtest/gtest.h>

namespace convt_jit {
namespace {

const Arch kHopper{90, 0};

TEST(Plan, TextAndBack) {
    const Layer layer = parse_layer("c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias");
    EXPECT_EQ(parse_plan(to_string(choose(layer, kHopper)), layer, kHopper), choose(layer, kHopper));
    const Plan plan = choose(layer, kHopper, {"direct", false});
    EXPECT_EQ(parse_plan(to_string(plan), layer, kHopper), plan);
    Plan changed = plan;
    auto& tile = std::get<DirectTile>(changed.tile);
    tile.positions = {2, 3, 16};
    tile.stage_weights = !tile.stage_weights;
    changed.index64 = changed.exact_nonfinite = true;
    EXPECT_EQ(parse_plan(to_string(changed), layer, kHopper), changed);
    EXPECT_NE(changed, plan);
}

TEST(Plan, BareFamilyTakesTheDefaultTile) {
    const Layer layer = parse_layer("c32 o64 k3x5 s2x3 p1x2 d2x1 g4 bias");
    EXPECT_EQ(choose(layer, kHopper, {"unrolled", false}), choose(layer, kHopper));
    const Plan direct = choose(layer, kHopper, {"direct", false});
    const Plan chunked = choose(layer, kHopper, {"direct chunk=2", false});
    EXPECT_EQ(std::get<DirectTile>(chunked.tile).channel_chunk, 2);
    EXPECT_EQ(std::get<DirectTile>(chunked.tile).positions, std::get<DirectTile>(direct.tile).positions);
}

TEST(Plan, BadTextNamesKeyAndValue) {
    const auto field_of = [](const char* text) -> std::string {
        try {
            (void)parse_plan(text, parse_layer("c8 o8 k3x3"), kHopper);
        } catch (const LayerError& error) {
            return error.field() + "=" + error.value();
        }
        return "accepted";
    };
    EXPECT_EQ(field_of("magic"), "plan=\"magic\"");
    EXPECT_EQ(field_of("direct chunk=x"), "plan.chunk=\"x\"");
    EXPECT_EQ(field_of("direct chunk=-1"), "plan.chunk=\"-1\"");
    EXPECT_EQ(field_of("direct positions=1x2"), "plan.positions=\"1x2\"");
    EXPECT_EQ(field_of("direct positions=1x2x3x4"), "plan.positions=\"1x2x3x4\"");
    EXPECT_EQ(field_of("direct stage_input=2"), "plan.stage_input=2");
    EXPECT_EQ(field_of("direct colour=3"), "plan=\"colour\"");
    EXPECT_EQ(field_of("direct chunk=1 chunk=2"), "plan.chunk=given twice");
    EXPECT_EQ(field_of("reference threads=64 index=16"), "plan.index=16");
    EXPECT_EQ(field_of(""), "plan=\"\"");
}

TEST(Plan, ForcedPlanThatDoesNotFitIsRefused) {
    const Layer layer = parse_layer("c8 o8 k3x3");
    EXPECT_THROW((void)choose(layer, kHopper, {"direct positions=1x64x64 per_thread=1", false}), UnsupportedError);
    EXPECT_THROW((void)choose(layer, kHopper, {"direct positions=1x1x30 per_thread=4", false}), UnsupportedError);
    EXPECT_THROW((void)choose(layer, kHopper, {"direct per_thread=64 channels=64", false}), UnsupportedError);
    EXPECT_THROW((void)choose(layer, Arch{70, 0}, {}), UnsupportedError);
}

TEST(Plan, ValuesThatServeNoLayerAreBadText) {
    const auto error_of = [](const char* text) -> std::string {
        try {
            (void)choose(parse_layer("c8 o8 k3x3"), kHopper, {text, false});
        } catch (const LayerError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(error_of("direct chunk=0"), "plan.chunk is 0; allowed: 1 to 4096");
    EXPECT_EQ(error_of("direct positions=1x0x4"), "plan.positions is 0; allowed: 1 to 4096");
    EXPECT_EQ(error_of("reference threads=2000"), "plan.threads is 2000; allowed: 1 to 1024");
    EXPECT_EQ(error_of("direct positions=1x99999999999x1"),
              "plan.positions is \"1x99999999999x1\"; allowed: integers from 0 to 2147483647");
}

TEST(Plan, IndexWidthFollowsTheSizes) {
    EXPECT_FALSE(choose(parse_layer("n65536 c3 o3 in64x64 k3x3"), kHopper).index64);  // samples are 64-bit in any case
    EXPECT_FALSE(choose(parse_layer("c3 o3 k3x3"), kHopper).index64);
    EXPECT_TRUE(choose(parse_layer("c3 o3 in32768x32768 k3x3"), kHopper).index64);
    EXPECT_TRUE(choose(parse_layer("n1 c1 o2 in32768x32768 k1x1"), kHopper).index64);  // 2^31 outputs
    EXPECT_TRUE(choose(parse_layer("c1 o1 k3 d1073741824 s1"), kHopper).index64);      // the halo alone needs it
}

TEST(Plan, TheGenericOneServesWhatThePlanServes) {
    const Layer layer = parse_layer("c8 o8 in32768x32768 k3x3");
    const Plan plan = choose(layer, kHopper, {"", true});
    const Plan generic = generic_plan(plan, layer, kHopper);
    EXPECT_NE(generic, plan);
    EXPECT_TRUE(generic.index64 && generic.exact_nonfinite);
    EXPECT_EQ(generic_plan(generic, layer, kHopper), generic);
    const Plan reference = choose(layer, kHopper, {"reference", false});
    EXPECT_EQ(generic_plan(reference, layer, kHopper), reference) << "its y is of another type";
}

TEST(Plan, SuffixIsDroppedWhereThePlanHasNoUseForIt) {
    const Plan plan = choose(parse_layer("c3 o3 k3x3"), kHopper);
    EXPECT_EQ(compile_arch(plan, Arch{90, 'a'}), (Arch{90, 0}));
}

}  // namespace
}  // namespace convt_jit
