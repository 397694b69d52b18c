#include "convt_jit/error.h"
#include "program.h"
#include "report/page.h"
#include "report/parameters.h"
#include "report/rows.h"

#include <gmock/gmock.h>

namespace convt_jit::tools::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;

Json bench_file() {
    return Json::parse(R"({"card": "NVIDIA H100 80GB HBM3", "copy_tb_per_s": 3.0, "results": [
        {"name": "up<1>", "layer": "n8 c64 o64 in64x64 k3x3 bias f32", "precision": "ieee", "family": "direct", "ms": 2,
         "spread": 0.01, "speed_of_light_ms": 1, "plan": "direct chunk=2"},
        {"name": "broken", "layer": "n1 c1 o1 in8 k3 f32", "precision": "ieee", "error": "no <memory>"}]})");
}

TEST(Report, OfABenchFile) {
    ReportData data = read_report_data(bench_file());
    ASSERT_EQ(data.rows.size(), 2U);
    EXPECT_EQ(data.rows[1].ms, 0);
    add_baseline(data, Json::parse(R"([{"name": "up<1>", "precision": "ieee", "ms": 9}, {"name": "up<1>",
        "precision": "ieee", "ms": 6}, {"name": "up<1>", "precision": "f16", "ms": 1}, {"name": "other"}])"));
    EXPECT_EQ(data.rows[0].baseline_ms, 6);
    const std::string page = report_page(data);
    EXPECT_THAT(page, HasSubstr("up&lt;1&gt;"));
    EXPECT_THAT(page, Not(HasSubstr("up<1>")));
    EXPECT_THAT(page, HasSubstr("no &lt;memory&gt;"));
    EXPECT_THAT(page, HasSubstr("50 %"));
    EXPECT_THAT(page, HasSubstr("Times faster than the baseline"));
    EXPECT_THAT(page, HasSubstr("ieee 131 TFLOP/s"));
}

TEST(Report, NeedsNoNetworkAndRunsNoScript) {
    const std::string page = report_page(read_report_data(bench_file()));
    for (const char* foreign : {"http:", "https:", "<script", "<link", "@import", "{{"})
        EXPECT_THAT(page, Not(HasSubstr(foreign)));
}

TEST(Report, FilesOfTheFirstTunerCanBeRead) {
    const ReportData data = read_report_data(Json::parse(R"({"card": "x", "results": [{"name": "a",
        "layer": "n1 c1 o1 in8 k3 f32", "candidates": [{"plan": "direct a=1", "ms": 3.0, "failure": ""},
        {"plan": "direct a=2", "ms": 1.0, "failure": "wrong"}, {"plan": "direct a=3", "ms": 2.0, "failure": ""}]}]})"));
    EXPECT_EQ(data.rows[0].plan, "direct a=3");
    EXPECT_EQ(data.rows[0].ms, 2);
    EXPECT_EQ(data.rows[0].precision, "ieee");
    EXPECT_THAT(report_page(data), HasSubstr("The fastest of 2 candidates"));
}

TEST(Report, WhatIsNoResultFileIsRefused) {
    EXPECT_THROW((void)read_report_data(Json::parse("[]")), Error);
    EXPECT_THROW((void)read_report_data(Json::parse(R"({"results": 3})")), Error);
    EXPECT_THROW((void)read_report_data(Json::parse(R"({"results": [3]})")), Error);
    EXPECT_NO_THROW((void)report_page(read_report_data(Json::parse(R"({"results": []})"))));
}

TEST(Parameters, ThatMatteredComeFirst) {
    std::vector<ReportCandidate> candidates;
    for (const int a : {1, 2, 3})
        for (const int b : {1, 2})
            candidates.push_back({"direct a=" + std::to_string(a) + " b=" + std::to_string(b) + " c=7", "measured", "",
                                  a * (b == 1 ? 1.0 : 1.01)});
    candidates.push_back({"other a=1", "measured", "", 0.1});
    candidates.push_back({"direct a=1 b=3", "failed", "", 0});
    const auto effects = parameter_effects("direct a=1 b=1 c=7", candidates);
    ASSERT_EQ(effects.size(), 2U) << "c never varied";
    EXPECT_EQ(effects[0].key, "a");
    EXPECT_GT(effects[0].explained, 0.99);
    EXPECT_EQ(effects[0].best_other, "2");
    EXPECT_DOUBLE_EQ(effects[0].best_other_ms, 2);
    EXPECT_EQ(effects[1].key, "b");
    EXPECT_DOUBLE_EQ(effects[1].best_other_ms, 1.01);
}

TEST(Parameters, Changes) {
    const auto all = changes("direct a=1 b=2", "direct a=1 b=3");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].key, "b");
    EXPECT_EQ(all[0].from, "2");
    EXPECT_EQ(all[0].to, "3");
    EXPECT_TRUE(changes("direct a=1", "unrolled a=2").empty());
}

class ReportCommand : public ProgramTest {};

TEST_F(ReportCommand, OfTheResultsThatComeWithTheSources) {
    const auto page = directory_ / "page.html";
    const std::string results = CONVT_RESULTS;
    const Outcome outcome = convt("autotune --report " + page.string() + " --from " + results +
                                  "/h100-default-f32.json," + results + "/h100-unrolled-candidates.json");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::string html = read_file(page);
    EXPECT_THAT(html, HasSubstr("37 layers"));
    EXPECT_THAT(html, HasSubstr("</html>"));
}

TEST_F(ReportCommand, BadUsage) {
    write_text(directory_ / "no.json", "{");
    const std::string page = " --report " + (directory_ / "page.html").string();
    EXPECT_EQ(convt("autotune --from x.json").code, 2);
    EXPECT_EQ(convt("autotune --from " + (directory_ / "missing.json").string() + page).code, 2);
    EXPECT_EQ(convt("autotune --from " + (directory_ / "no.json").string() + page).code, 1);
    EXPECT_FALSE(std::filesystem::exists(directory_ / "page.html"));
}

}  // namespace
}  // namespace convt_jit::tools::test
