// `convt autotune --merge`, and `convt warmup` with the records that come of it.
#include "convt_jit/convt_jit.h"
#include "warmup_program.h"

#include <gmock/gmock.h>

namespace convt_jit::tools::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kLayer = "n1 c4 o8 in20x20 k3x3 s2";

class Records : public Warmup {
protected:
    // A file of one record.
    [[nodiscard]] std::string file(const std::string& name, const std::string& gpu, const std::string& plan) const {
        TuningEvidence evidence;
        evidence.plan = plan;
        evidence.ms = 1;
        const TuningRecord record{
            {gpu, 100, "sm_90"}, "c4 o8 k3x3 s2 f32", shape_class(parse_layer(kLayer)), plan_version(), {evidence}};
        return update_records((directory_ / name).string(), {record}).front();
    }
};

TEST_F(Records, MergedAndWarmed) {
    const std::string a = file("a.json", "A", "direct channels=2 unroll=1"),
                      b = file("b.json", "B", "direct channels=1 unroll=1"), all = (directory_ / "all.json").string();
    const Outcome merged = convt("autotune --merge " + a + " " + b + " --records " + all);
    EXPECT_EQ(merged.code, 0) << merged.err;
    EXPECT_THAT(merged.out, HasSubstr("2 records of 2 GPU models, from 2 findings"));
    EXPECT_EQ(convt("autotune --merge " + all + " --records " + a).code, 0) << "into one that is there";
    EXPECT_EQ(read_records(a), read_records(all));

    const std::string layer = fmt::format("'{}' --arch sm_90", kLayer), environment = "CONVT_JIT_RECORDS=" + all;
    EXPECT_EQ(answer(layer, 0, environment).at("compiled"), 2) << "one for each GPU model";
    EXPECT_EQ(answer(layer + " --check", 0, environment).at("hits"), 2);
    EXPECT_EQ(answer(layer + " --check", 1).at("missing"), 1) << "the default choice";
    EXPECT_EQ(convt("cache explain '" + std::string(kLayer) + "' --arch sm_90", environment).code, 0);
    EXPECT_EQ(convt("cache explain '" + std::string(kLayer) + "' --arch sm_90").code, 1);
    EXPECT_EQ(answer("'c4 o8 k3x3 s2' --arch sm_90", 0, environment).at("compiled"), 1) << "and the default choice";
}

TEST_F(Records, WhatIsLeftOutIsNamed) {
    const std::string a = file("a.json", "A", "direct");
    std::string text = read_file(a);
    text.replace(text.find("\"constant\""), 10, "\"whatever\"");
    write_text(a, text);
    const std::string to = " --records " + (directory_ / "all.json").string();
    const Outcome merged = convt("autotune --merge " + a + to);
    EXPECT_EQ(merged.code, 1);
    EXPECT_THAT(merged.err, HasSubstr("weights is whatever; allowed: constant, changing"));
    write_text(a, text.substr(0, text.size() / 2));
    EXPECT_EQ(convt("autotune --merge " + a + to).code, 1);
    EXPECT_EQ(convt("autotune --merge " + a + "x" + to).code, 2);
    EXPECT_FALSE(std::filesystem::exists(directory_ / "all.json"));
}

}  // namespace
}  // namespace convt_jit::tools::test
