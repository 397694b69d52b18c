#include "tune/record_text.h"

#include "unit/tune/embedded.h"
#include "unit/tune/sample.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>

namespace convt_jit {
namespace {

using nlohmann::json;

std::string failure(const std::string& text) {
    try {
        (void)parse_records(text, "h100.json");
    } catch (const DamagedRecords& error) {
        EXPECT_EQ(error.subject(), "h100.json");
        return error.what();
    }
    return "read";
}

// What is left out of a document of one record with two findings after a change of it.
std::string left_out(const std::function<void(json&)>& change, std::size_t findings_left) {
    TuningRecord record = sample::record("n1 in64x64");
    record.evidence.push_back(sample::evidence(sample::kOtherPlan, 2));
    json document = json::parse(to_json({record}));
    change(document);
    const RecordText read = parse_records(document.dump(), "h100.json");
    std::size_t findings = 0;
    for (const TuningRecord& r : read.records) findings += r.evidence.size();
    EXPECT_EQ(findings, findings_left);
    if (read.skipped.size() != 1) return std::to_string(read.skipped.size()) + " left out";
    return read.skipped[0].where + ": " + read.skipped[0].why;
}

json& record_of(json& document) { return document["gpus"][0]["records"][0]; }

TEST(RecordText, TextAndBack) {
    std::mt19937 random(3);
    for (int i = 0; i < 100; ++i) {
        const auto records = merge_records(sample::random_records(random), {});
        const RecordText read = parse_records(to_json(records), "x");
        EXPECT_TRUE(read.skipped.empty());
        EXPECT_EQ(read.records, records);
        EXPECT_EQ(to_json(read.records), to_json(records));
    }
}

TEST(RecordText, TheEmbeddedOnesCanBeRead) {
    ASSERT_EQ(embedded_records().size(), 1u);
    const auto& [name, text] = *embedded_records().begin();
    EXPECT_EQ(name, "fake_0-132.json");
    EXPECT_EQ(parse_records(text, std::string(name)).records.size(), 1u);
}

TEST(RecordText, CutAnywhereIsDamaged) {
    const std::string text = to_json({sample::record("n1 in64x64")});
    for (std::size_t size = 0; size + 1 < text.size(); ++size)  // all but the last line break
        EXPECT_NE(failure(text.substr(0, size)), "read") << size;
}

TEST(RecordText, FieldsOfLaterVersionsAreKept) {
    json document = json::parse(to_json({sample::record("n1 in64x64")}));
    document["comment"] = {1, 2};
    record_of(document)["evidence"][0]["power"] = {{"w", 700}};
    const RecordText read = parse_records(document.dump(), "x");
    EXPECT_TRUE(read.skipped.empty());
    ASSERT_EQ(read.records.size(), 1u);
    EXPECT_EQ(read.records[0].evidence[0].extra, R"({"power":{"w":700}})");
    EXPECT_EQ(record_of(document)["evidence"][0]["power"]["w"],
              record_of(document = json::parse(to_json(read.records)))["evidence"][0]["power"]["w"]);
}

TEST(RecordText, ANewerFormatIsNotDamaged) {
    try {
        (void)parse_records(R"({"format": 2, "gpus": "another meaning"})", "h100.json");
        FAIL();
    } catch (const DamagedRecords&) {
        FAIL() << "it may be sound";
    } catch (const TuningError& error) {
        EXPECT_NE(std::string(error.what()).find("format 2"), std::string::npos) << error.what();
    }
}

TEST(RecordText, HostileDocuments) {
    const std::string deep(2'000'000, '['), nested = "{\"format\":1,\"gpus\":" + deep;
    EXPECT_NE(failure(deep), "read");
    EXPECT_NE(failure(nested).find("16 levels"), std::string::npos) << failure(nested);
    for (const char* text : {"", "null", "[]", "1", "{}", R"({"format":0,"gpus":[]})", R"({"format":"1","gpus":[]})",
                             R"({"format":1})", R"({"format":1,"gpus":{}})", R"({"format":1e999,"gpus":[]})",
                             R"({"format":1.5,"gpus":[]})", "{\"format\":1,\"gpus\":[\"\xff\"]}"})
        EXPECT_NE(failure(text), "read") << text;
}

TEST(RecordText, WrongFieldsAreNamedAndTheOthersServe) {
    const auto of_evidence = [](const char* key, const json& value, std::size_t left = 1) {
        return left_out([&](json& d) { record_of(d)["evidence"][0][key] = value; }, left);
    };
    EXPECT_EQ(of_evidence("ms", "fast"),
              "h100.json: gpus[0].records[0].evidence[0]: ms is \"fast\"; allowed: numbers from 0 to 1000000000");
    EXPECT_NE(of_evidence("ms", 0).find("numbers above 0"), std::string::npos);
    EXPECT_NE(of_evidence("ms", -1).find("ms is -1"), std::string::npos);
    EXPECT_NE(of_evidence("ms", 1e300).find("ms is 1e+300"), std::string::npos);
    EXPECT_NE(of_evidence("ms", nullptr).find("missing"), std::string::npos);
    EXPECT_NE(of_evidence("batch", 1.5).find("batch is 1.5"), std::string::npos);
    EXPECT_NE(of_evidence("batch", 18446744073709551615u).find("batch is 18446744073709551615"), std::string::npos);
    EXPECT_NE(of_evidence("clock_mhz", -5).find("clock_mhz is -5"), std::string::npos);
    EXPECT_NE(of_evidence("plan", std::string(5000, 'x')).find("4096 bytes"), std::string::npos);
    EXPECT_NE(of_evidence("plan", json::array()).find("plan is []"), std::string::npos);
    EXPECT_NE(of_evidence("input", {1, 2, 3, 4}).find("up to 3"), std::string::npos);
    EXPECT_NE(of_evidence("input", {1, 0}).find("input is 0"), std::string::npos);
    EXPECT_NE(of_evidence("weights", "some").find("constant, changing"), std::string::npos);
    const auto of_record = [](const char* key, const json& value) {
        return left_out([&](json& d) { record_of(d)[key] = value; }, 0);
    };
    EXPECT_NE(of_record("layer", "c8").find("layer is c8"), std::string::npos);
    EXPECT_NE(of_record("layer", "n1 c8 o8 k3x3 f32").find("without n and in"), std::string::npos);
    EXPECT_NE(of_record("plan_version", 0).find("plan_version is 0"), std::string::npos);
    EXPECT_NE(of_record("evidence", 7).find("evidence is 7"), std::string::npos);
    EXPECT_EQ(of_record("evidence", json::array()), "0 left out") << "nothing is told, and nothing is wrong";
    EXPECT_NE(left_out([](json& d) { d["gpus"][0]["multiprocessors"] = 1e18; }, 0).find("gpus[0]"), std::string::npos);
    EXPECT_NE(left_out([](json& d) { d["gpus"].push_back(3); }, 2).find("gpus[1]: it is 3"), std::string::npos);
}

}  // namespace
}  // namespace convt_jit
