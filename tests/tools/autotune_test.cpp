#include "convt_jit/convt_jit.h"
#include "program.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <sstream>

namespace convt_jit::tools::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kLayer = "'n2 c8 o8 in32x32 k3x3 s2x2 bias f32'";

// The whole command over a made-up card: its processes, its watchdog and its files are real.
class Autotune : public ProgramTest {
protected:
    [[nodiscard]] std::string surface(const json& rules) const {
        const auto path = directory_ / "surface.json";
        write_text(path, json{{"card", "made up"}, {"arch", "sm_80"}, {"rules", rules}}.dump());
        return " --surface " + path.string();
    }
    [[nodiscard]] std::filesystem::path results() const { return directory_ / "results.json"; }
    [[nodiscard]] std::string to_results() const { return " --json " + results().string(); }
    [[nodiscard]] json tuned() const { return json::parse(read_file(results())).at("results").at(0); }
    [[nodiscard]] static json candidate(const json& layer, const std::string& part) {
        for (const json& c : layer.at("candidates"))
            if (c.at("plan").get<std::string>().find(part) != std::string::npos) return c;
        return {};
    }
};

TEST_F(Autotune, RefusesTheSimulator) {
    if (Device::cuda_count() > 0) GTEST_SKIP() << "there is a GPU";
    const Outcome outcome = convt("autotune 'c1 o1 in4 k3'" + to_results());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("needs a GPU"));
    EXPECT_FALSE(std::filesystem::exists(results()));
}

TEST_F(Autotune, FindsTheFastest) {
    const Outcome outcome = convt(std::string("autotune ") + kLayer + " --candidates 10 --exhaustive" +
                                  surface({{{"match", "stages=3"}, {"ms", 0.5}}}) + to_results());
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    const json layer = tuned();
    EXPECT_THAT(layer.at("plan").get<std::string>(), HasSubstr("stages=3"));
    EXPECT_NEAR(layer.at("ms").get<double>(), 0.5, 0.01);
    EXPECT_GE(layer.at("default_ms").get<double>(), 0.49);
    EXPECT_GT(layer.at("speed_of_light_ms").get<double>(), 0);
    EXPECT_EQ(layer.at("not_reached"), 0);
    EXPECT_FALSE(std::filesystem::exists(results().string() + ".journal")) << "it has served";
}

TEST_F(Autotune, WritesWhatWonAsARecord) {
    const auto records = directory_ / "records.json";
    const std::string command = std::string("autotune ") + kLayer + " --candidates 10 --exhaustive" +
                                surface({{{"match", "stages=3"}, {"ms", 0.5}}}) + " --records " + records.string();
    const Outcome outcome = convt(command + to_results());
    ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("records: " + records.string()));
    const json layer = tuned();
    const Layer same = parse_layer("n2 c8 o8 in32x32 k3x3 s2x2 bias f32");
    std::vector<TuningRecord> all = read_records(records.string());
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].gpu, (GpuModel{"made up", 108, "sm_80"}));
    EXPECT_EQ(all[0].layer, "c8 o8 k3x3 s2 bias f32");
    EXPECT_EQ(all[0].shape_class, shape_class(same));
    EXPECT_EQ(all[0].plan_version, plan_version());
    ASSERT_EQ(all[0].evidence.size(), 1u);
    const TuningEvidence& e = all[0].evidence[0];
    EXPECT_EQ(e.plan, layer.at("plan"));
    EXPECT_EQ(e.ms, layer.at("ms"));
    EXPECT_EQ(e.runner_up_plan, layer.at("runner_up"));
    EXPECT_EQ(e.default_plan, layer.at("default_plan"));
    EXPECT_EQ(e.default_ms, layer.at("default_ms"));
    EXPECT_EQ(e.batch, 2);
    EXPECT_EQ(e.input, (Dims{32, 32}));
    EXPECT_GT(e.candidates, 1);
    EXPECT_EQ(e.weights, MeasuredWeights::constant);
    EXPECT_THAT(e.date, testing::MatchesRegex("20..-..-..T..:..:..Z"));
    // Whoever asks for the layer on such a card gets it.
    const auto choice = TuningRecords({records.string()}).find(same, {"made up", 108, "sm_80"});
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->plan, e.plan);
    // What is found later joins it.
    EXPECT_EQ(convt(command + " --pack-each-time").code, 0);
    all = read_records(records.string());
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].evidence.size(), 2u);
}

TEST_F(Autotune, NamesRecordsThatCannotBeWrittenBeforeItMeasures) {
    write_text(directory_ / "file", "");
    const Outcome outcome = convt(std::string("autotune ") + kLayer + surface({}) + to_results() + " --records " +
                                  (directory_ / "file" / "records.json").string());
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.err, HasSubstr((directory_ / "file").string() + ": Not a directory"));
    EXPECT_FALSE(std::filesystem::exists(results()));
}

TEST_F(Autotune, AMadeUpCardLeavesNoRecordsUnasked) {
    const auto records = directory_ / "own";
    const Outcome outcome = convt(std::string("autotune ") + kLayer + " --candidates 3 --exhaustive" + surface({}),
                                  "CONVT_JIT_RECORDS=" + records.string());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(records));
}

TEST_F(Autotune, ListsWhatFailsAndPicksNoneOfIt) {
    const Outcome outcome = convt(std::string("autotune ") + kLayer + " --candidates 6 --exhaustive --patience 0.3" +
                                  surface({{{"match", "direct"}, {"fault", "crash"}},
                                           {{"match", "warps_n=2"}, {"fault", "hang"}},
                                           {{"match", "slabs=0"}, {"fault", "failed to compile"}},
                                           {{"match", "stages=3"}, {"fault", "wrong"}, {"ms", 0.01}},
                                           {{"match", "implicit_gemm"}, {"fault", "failed to launch"}}}) +
                                  to_results());
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    const json layer = tuned();
    EXPECT_THAT(layer.at("plan").get<std::string>(), Not(HasSubstr("stages=3")));
    EXPECT_EQ(candidate(layer, "direct").at("state"), "failed to launch");
    EXPECT_THAT(candidate(layer, "direct").at("failure").get<std::string>(), HasSubstr("signal"));
    for (const json& c : layer.at("candidates")) {
        const auto plan = c.at("plan").get<std::string>();
        if (plan.find("warps_n=2") != std::string::npos) {
            EXPECT_EQ(c.at("state"), "hung") << plan;
        }
        if (c.at("state") == "measured" || c.at("state") == "halved out") {
            EXPECT_EQ(plan.find("slabs=0"), std::string::npos) << plan;
        }
    }
}

TEST_F(Autotune, WhereAllFailTheExitCodeSaysSo) {
    const Outcome outcome = convt(std::string("autotune ") + kLayer + " --candidates 2" +
                                  surface({{{"match", "="}, {"fault", "wrong"}}}) + to_results());
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.out, HasSubstr("FAILED"));
    EXPECT_THAT(tuned().at("error").get<std::string>(), HasSubstr("no candidate is right"));
}

TEST_F(Autotune, FamiliesPlansAndDtype) {
    write_text(directory_ / "plans", "unrolled chunk=4\n");
    const Outcome outcome =
        convt(std::string("autotune ") + kLayer + " --candidates 3 --exhaustive --dtype f16" +
              " --families unrolled --plans " + (directory_ / "plans").string() + surface({}) + to_results());
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    const json layer = tuned();
    EXPECT_EQ(layer.at("precision"), "f16");
    EXPECT_FALSE(candidate(layer, "unrolled chunk=4").is_null());
    for (const json& c : layer.at("candidates"))
        if (c.at("plan") != layer.at("default_plan")) {
            EXPECT_THAT(c.at("plan").get<std::string>(), HasSubstr("unrolled"));
        }
}

TEST_F(Autotune, GoesOnFromTheJournalOfATunerThatWasKilled) {
    const auto journal = directory_ / "journal";
    const std::string command = std::string("autotune ") + kLayer +
                                " --candidates 60 --exhaustive --patience 0.2 --journal " + journal.string() +
                                surface({{{"match", "chunk=8"}, {"fault", "hang"}}});
    (void)run(command, ">/dev/null 2>&1 & pid=$!; sleep 2; kill -9 $pid");
    const std::string kept = read_file(journal);
    const auto lines = std::count(kept.begin(), kept.end(), '\n');
    ASSERT_GT(lines, 1);
    write_text(journal, kept + R"({"setting": "torn)");
    const Outcome outcome = convt(command + to_results());
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("going on from"));
    EXPECT_NE(tuned().at("plan"), "");
}

TEST_F(Autotune, WhatAKilledTunerHasLeftIsRemovedByTheNext) {
    const auto temporary = directory_ / "tmp";
    std::filesystem::create_directory(temporary);
    const std::string environment = "TMPDIR=" + temporary.string();
    const auto scratch = [&] {
        std::vector<std::filesystem::path> found;
        for (const auto& entry : std::filesystem::directory_iterator(temporary))
            if (entry.path().filename().string().starts_with("convt_autotune_")) found.push_back(entry.path());
        return found;
    };
    const std::string command = std::string("autotune ") + kLayer + " --candidates 3 --exhaustive";
    (void)run(command + surface({{{"match", "="}, {"fault", "hang"}}}),
              ">/dev/null 2>&1 & pid=$!; sleep 1; kill -9 $pid", environment);
    ASSERT_EQ(scratch().size(), 1u);
    EXPECT_EQ(convt(command + surface({}), environment).code, 0);
    EXPECT_EQ(scratch().size(), 1u) << "one that is as young may be in use";
    std::filesystem::last_write_time(scratch().front(),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    EXPECT_EQ(convt(command + surface({}), environment).code, 0);
    EXPECT_TRUE(scratch().empty());
}

TEST_F(Autotune, TwoTunersOfOneJournalAndOneFileOfRecords) {
    const auto journal = directory_ / "journal", records = directory_ / "records.json";
    const auto command = [&](const char* layer) {
        return fmt::format("autotune '{}' --candidates 10 --exhaustive --journal {} --records {}{}", layer,
                           journal.string(), records.string(), surface({}));
    };
    const std::string both = fmt::format(
        ">/dev/null 2>&1 & a=$!; CONVT_JIT_CACHE_DIR='{}' '{}' {} >/dev/null 2>&1; "
        "b=$?; wait $a && exit $b",
        (directory_ / "cache").string(), CONVT_PROGRAM, command("n1 c4 o4 in16 k4 s2"));
    EXPECT_EQ(run(command("n2 c8 o8 in32x32 k3x3 s2x2 bias f32"), both), 0);
    EXPECT_EQ(read_records(records.string()).size(), 2u);
    std::istringstream lines(read_file(journal));
    for (std::string line; std::getline(lines, line);) EXPECT_TRUE(json::accept(line)) << line;
}

TEST_F(Autotune, ABudgetThatIsNoTimeIsBadUsage) {
    for (const char* option : {"--patience nan", "--patience 1e300", "--patience -1", "--patience 0", "--families x",
                               "--families direct,reference", "--families ''"}) {
        const Outcome outcome = convt(std::string("autotune ") + kLayer + " " + option + surface({}));
        EXPECT_EQ(outcome.code, 2) << option;
        EXPECT_THAT(outcome.err, HasSubstr(std::string(option).substr(0, std::string(option).find(' '))));
        EXPECT_LT(outcome.err.size(), 400U);
    }
    for (const char* budget : {"30", "0s", "soon", "20000w", "1000000000000000000000d"}) {
        const Outcome outcome = convt(std::string("autotune ") + kLayer + " --budget " + budget + surface({}));
        EXPECT_EQ(outcome.code, 2) << budget;
        EXPECT_THAT(outcome.err, HasSubstr("--budget"));
    }
}

TEST_F(Autotune, WritesAReportOfWhatItMeasured) {
    const auto page = directory_ / "page.html";
    const Outcome outcome =
        convt(std::string("autotune ") + kLayer + " --candidates 20 --exhaustive --report " + page.string() +
              surface({{{"match", "stages=3"}, {"fault", "wrong"}}}) + to_results());
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    const std::string html = read_file(page);
    EXPECT_THAT(html, HasSubstr("made up"));
    EXPECT_THAT(html, HasSubstr("What mattered"));
    EXPECT_THAT(html, HasSubstr("Candidates that failed"));
    // The same from the file, without a card.
    const Outcome again = convt("autotune --report " + page.string() + " --from " + results().string());
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(read_file(page), html);
}

}  // namespace
}  // namespace convt_jit::tools::test
