// What records say about a layer: which one is asked, which one fits, and what is to be warmed.
#include "plan/plan.h"
#include "tune/places.h"
#include "tune/record_file.h"
#include "tune/shipped.h"
#include "unit/cache/sample.h"
#include "unit/tune/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace convt_jit {
namespace {

using sample::kH100;
using sample::kH200;
using sample::kPcie;
using sample::kPlan;
using sample::record;

class RecordsTest : public testing::Test {
protected:
    std::string place(const std::string& name, const std::vector<TuningRecord>& records) {
        (void)update_records(scratch_ / name, records);
        return scratch_ / name;
    }
    // A plan that tells which record was taken.
    static std::string plan(int chunk) {
        std::string text = kPlan;
        return text.replace(text.find("chunk=4"), 7, "chunk=" + std::to_string(chunk));
    }
    static std::string taken(const TuningRecords& records, const std::string& sizes, const GpuModel& gpu = kH100) {
        const auto choice = records.find(parse_layer(sizes + " " + sample::kLayer), gpu);
        if (!choice) return "none";
        const std::size_t at = choice->plan.find(" chunk=");
        return choice->plan.substr(at + 7, choice->plan.find(' ', at + 1) - at - 7);
    }

    sample::Scratch scratch_;
    sample::Variable no_home_{"HOME", scratch_ / "home"};
    sample::Variable data_{"XDG_DATA_HOME", scratch_ / "data"};
    sample::Variable system_{"XDG_DATA_DIRS", scratch_ / "share"};
    sample::Variable named_{"CONVT_JIT_RECORDS", ""};
    sample::Variable path_{"CONVT_JIT_RECORDS_PATH", ""};
};

TEST_F(RecordsTest, TheNearestClass) {
    const TuningRecords records({place("a.json", {record("n1 in64x64", plan(1)), record("n16 in64x64", plan(2)),
                                                  record("n1 in9x9", plan(3)), record("", plan(4))})});
    EXPECT_EQ(taken(records, "n1 in64x64"), "1");
    EXPECT_EQ(taken(records, "n1 in63x60"), "1") << "the same class";
    EXPECT_EQ(taken(records, "n16 in64x64"), "2");
    EXPECT_EQ(taken(records, "n4 in64x64"), "2") << "between two, the larger";
    EXPECT_EQ(taken(records, "n64 in64x64"), "2");
    EXPECT_EQ(taken(records, "n4096 in64x64"), "4") << "no sizes are nearer than sizes far away";
    EXPECT_EQ(taken(records, "n1 in8x8"), "3");
    EXPECT_EQ(taken(records, ""), "4");
    const TuningRecords sized({place("b.json", {record("n1 in64x64", plan(1)), record("n16 in64x64", plan(2))})});
    EXPECT_EQ(taken(sized, ""), "2") << "without sizes the largest";
    EXPECT_EQ(taken(sized, "n4096 in64x64"), "none") << "the default choice knows better";
    EXPECT_FALSE(sized.find(parse_layer("n1 in64x64 c8 o16 k3x3 s2 f32"), kH100)) << "another layer";
}

TEST_F(RecordsTest, OtherGpus) {
    const TuningRecords records({place("a.json", {record("n1 in64x64", plan(1), kH100), record("", plan(2), kPcie),
                                                  record("", plan(3), sample::kAmpere)})});
    EXPECT_EQ(taken(records, "n1 in64x64", kH100), "1");
    EXPECT_EQ(taken(records, "n1 in64x64", kPcie), "2") << "its own, however near those of another GPU are";
    EXPECT_EQ(taken(records, "n1 in64x64", kH200), "1") << "132 multiprocessors as well";
    EXPECT_EQ(taken(records, "n1 in64x64", {"NVIDIA H20", 78, "sm_90"}), "2");
    EXPECT_EQ(taken(records, "n4096 in64x64", kH100), "2");
    EXPECT_EQ(taken(records, "n1 in64x64", {"NVIDIA GeForce RTX 4090", 128, "sm_89"}), "none");
    EXPECT_EQ(taken(records, "n1 in64x64", {"", 0, "nonsense"}), "none");
}

TEST_F(RecordsTest, WhatDoesNotFitIsPassedOverWithOneWarning) {
    const std::string file = place("a.json", {record("n1 in64x64", sample::kTooLarge), record("n1 in1x1", "reference"),
                                              record("n1 in8x8", "magic tile=3"), record("n16 in64x64", plan(2))});
    const sample::Warnings warnings;
    const TuningRecords records({file});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(taken(records, "n1 in64x64"), "2") << "the next nearest";
    ASSERT_EQ(warnings.lines().size(), 1u);
    EXPECT_NE(warnings.lines()[0].find(file), std::string::npos) << warnings.lines()[0];
    EXPECT_NE(warnings.lines()[0].find("1024 threads"), std::string::npos) << warnings.lines()[0];
    EXPECT_EQ(taken(records, "n1 in1x1"), "none");
    EXPECT_EQ(taken(records, "n1 in8x8"), "none");
    EXPECT_EQ(warnings.lines().size(), 3u);
}

TEST_F(RecordsTest, OtherPlanVersionsAreToldOnce) {
    TuningRecord old = record("n1 in64x64", plan(1));
    ++old.plan_version;
    const std::string file = place("a.json", {old, record("n16 in64x64", plan(2))});
    const sample::Warnings warnings;
    EXPECT_EQ(taken(TuningRecords({file}), "n1 in64x64"), "2");
    EXPECT_EQ(taken(TuningRecords({file}), "n1 in64x64"), "2");
    ASSERT_EQ(warnings.lines().size(), 1u);
    EXPECT_NE(warnings.lines()[0].find("1 of 2"), std::string::npos) << warnings.lines()[0];
}

TEST_F(RecordsTest, OffsetsFollowTheSizes) {
    std::string wide = kPlan;
    wide.replace(wide.find("index=32"), 8, "index=64");
    const TuningRecords records({place("a.json", {record("", wide)})});
    EXPECT_NE(records.find(parse_layer(sample::kLayer), kH100)->plan.find("index=32"), std::string::npos);
    const Layer large = parse_layer(std::string("n1 in30000x30000 ") + sample::kLayer);
    EXPECT_NE(records.find(large, kH100)->plan.find("index=64"), std::string::npos);
}

TEST_F(RecordsTest, Layers) {
    const std::string user = place("user.json", {record("n1 in64x64", plan(1))}),
                      system = place("system.json", {record("n1 in64x64", plan(2)), record("n16 in64x64", plan(3))});
    EXPECT_EQ(taken(TuningRecords({user, system}), "n1 in64x64"), "1") << "at the same distance the first place";
    EXPECT_EQ(taken(TuningRecords({system, user}), "n1 in64x64"), "2");
    EXPECT_EQ(taken(TuningRecords({user, system}), "n16 in64x64"), "3") << "the nearer class in any place";
    EXPECT_EQ(taken(TuningRecords(), "n1 in64x64"), "none");
    EXPECT_TRUE(TuningRecords(std::vector<std::string>{}).empty());
}

TEST_F(RecordsTest, TheEnvironment) {
    EXPECT_EQ(user_records_path(), scratch_ / "data/convt_jit/records");
    EXPECT_EQ(TuningRecords::standard().empty(), shipped_records().empty());
    EXPECT_EQ(taken(TuningRecords::standard(), "n1 in64x64"), "none");
    (void)update_records(scratch_ / "share/convt_jit/records", {record("n1 in64x64", plan(1))});
    EXPECT_EQ(taken(TuningRecords::standard(), "n1 in64x64"), "1");
    (void)update_records(user_records_path(), {record("n1 in64x64", plan(2))});
    EXPECT_EQ(taken(TuningRecords::standard(), "n1 in64x64"), "2");
    const std::string file = place("file.json", {record("n1 in64x64", plan(3))});
    {
        const sample::Variable named("CONVT_JIT_RECORDS", file);
        EXPECT_EQ(taken(TuningRecords::standard(), "n1 in64x64"), "3");
        EXPECT_EQ(user_records_path(), file);
    }
    const sample::Variable nowhere("CONVT_JIT_RECORDS", scratch_ / "nowhere");
    EXPECT_EQ(taken(TuningRecords::standard(), "n1 in64x64"), "1");
    const sample::Variable path("CONVT_JIT_RECORDS_PATH", scratch_ / "none" + ":" + file);
    EXPECT_EQ(taken(TuningRecords::standard(), "n1 in64x64"), "3");
    const sample::Variable off("CONVT_JIT_RECORDS", "off");
    EXPECT_TRUE(TuningRecords::standard().empty());
    EXPECT_EQ(user_records_path(), "");
}

TEST_F(RecordsTest, WhatToWarm) {
    const TuningRecords records(
        {place("a.json", {record("n1 in64x64", plan(1), kH100), record("n16 in64x64", plan(2), kH100),
                          record("n1 in64x64", plan(4), kPcie), record("", plan(8), kPcie)})});
    const auto plans = [&](const std::string& sizes, const std::string& arch = "sm_90") {
        return records.plans(parse_layer(sizes + " " + sample::kLayer), arch);
    };
    const auto standard = [](const std::string& sizes, const Arch& arch) {
        return to_string(choose(parse_layer(sizes + " " + sample::kLayer), arch));
    };
    EXPECT_EQ(plans("n1 in64x64").size(), 2u) << "one per GPU model";
    EXPECT_EQ(plans("n1 in64x64", "sm_90a"), plans("n1 in64x64"));
    EXPECT_EQ(plans("n1 in64x64", "sm_80"), std::vector{standard("n1 in64x64", {80, 0})});
    EXPECT_EQ(plans("").size(), 5u) << "all classes and the default choice";
    EXPECT_EQ(plans("").front(), standard("", {90, 0}));
    EXPECT_EQ(TuningRecords().plans(parse_layer("n1 in4x4 c8 o8 k3x3"), "sm_90").size(), 1u);
    // Whatever GPU of the arch asks, for whatever sizes, finds what was warmed.
    for (const GpuModel& gpu : {kH100, kH200, kPcie, GpuModel{"NVIDIA H20", 78, "sm_90"}})
        for (const char* sizes : {"n1 in64x64", "n4 in64x64", "n16 in64x64", "n1 in2x2", ""}) {
            const Layer layer = parse_layer(std::string(sizes) + " " + sample::kLayer);
            const auto choice = records.find(layer, gpu);
            const std::string chosen = choice ? choice->plan : to_string(choose(layer, {90, 0}));
            const auto warmed = plans(sizes);
            EXPECT_EQ(std::count(warmed.begin(), warmed.end(), chosen), 1) << gpu.name << " " << sizes;
        }
}

}  // namespace
}  // namespace convt_jit
