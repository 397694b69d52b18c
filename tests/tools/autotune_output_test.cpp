// What `convt autotune` may write to: nothing that it reads, nobody's records, no two of its outputs on one file.
#include "autotune/outputs.h"
#include "convt_jit/convt_jit.h"
#include "program.h"
#include "subject/apart.h"
#include "subject/usage_error.h"

#include <gmock/gmock.h>

namespace convt_jit::tools::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class AutotuneOutput : public ProgramTest {
protected:
    void SetUp() override {
        ProgramTest::SetUp();
        write_text(directory_ / "surface.json", R"({"card": "made up", "arch": "sm_80"})");
        TuningEvidence evidence;
        evidence.plan = "direct channels=2 unroll=1";
        evidence.ms = 1;
        const TuningRecord record{{"A", 100, "sm_90"}, "c4 o8 k3x3 s2 f32", "any", plan_version(), {evidence}};
        (void)update_records(file("records.json"), {record});
        (void)update_records(file("folder"), {record});
        fs::create_symlink("records.json", directory_ / "link.json");
        fs::create_hard_link(directory_ / "records.json", directory_ / "hard.json");
        fs::create_directory_symlink("folder", directory_ / "folder_link");
    }
    [[nodiscard]] std::string file(const std::string& name) const { return (directory_ / name).string(); }
    // In the directory, where names stand for themselves.
    [[nodiscard]] Outcome tune(const std::string& arguments, const std::string& environment = "") const {
        return convt(
            "autotune 'n2 c8 o8 in8x8 k3x3 s2x2 f32' --surface surface.json --candidates 1 --exhaustive " + arguments,
            "env -C '" + directory_.string() + "' " + environment);
    }
    void expect_refused(const std::string& arguments, const std::string& why,
                        const std::string& environment = "") const {
        const Outcome outcome = tune(arguments, environment);
        EXPECT_EQ(outcome.code, 2) << arguments << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr(why)) << arguments;
        EXPECT_THAT(outcome.err, HasSubstr("allowed: ")) << arguments;
        EXPECT_EQ(outcome.out, "") << "before anything is measured";
    }
};

TEST_F(AutotuneOutput, SparesRecords) {
    const std::string before = read_file(file("records.json"));
    const std::string folder_file = read_records(file("folder")).empty() ? "" : "folder/a-100.json";
    const std::string in_folder = read_file(file(folder_file));
    for (const char* output : {"--json", "--report", "--journal"})
        for (const auto& [name, records] : {std::pair<const char*, const char*>{"records.json", "records.json"},
                                            {"link.json", "records.json"},
                                            {"records.json", "link.json"},
                                            {"./folder/../hard.json", "records.json"},
                                            {"folder/a-100.json", "folder"},
                                            {"folder_link/new.json", "folder"},
                                            {"folder/new.json", "folder_link"},
                                            {"folder/a-100.json.aside", "folder"},
                                            {"none.json", "none.json"},
                                            {"none/new.json", "none"}}) {
            const std::string given = fmt::format("{} {}", output, name);
            expect_refused(fmt::format("{} --records {}", given, records), output);
            // A card that is made up leaves no records, and destroys none.
            expect_refused(given, output, fmt::format("CONVT_JIT_RECORDS='{}'", file(records)));
            expect_refused(given + " --records elsewhere", output,
                           fmt::format("CONVT_JIT_RECORDS='{}'", file(records)));
        }
    EXPECT_EQ(read_file(file("records.json")), before);
    EXPECT_EQ(read_file(file(folder_file)), in_folder);
    EXPECT_FALSE(fs::exists(directory_ / "none"));
    EXPECT_EQ(tune("--json out.json --report folder/page.html --records folder").code, 0);
    const Outcome page = convt("autotune --from " + file("out.json") + " --report " + file("link.json"),
                               "CONVT_JIT_RECORDS='" + file("records.json") + "'");
    EXPECT_EQ(page.code, 2) << page.err;
    EXPECT_EQ(read_file(file("records.json")), before);
}

TEST_F(AutotuneOutput, WhatIsReadIsNoneOfThem) {
    const std::string before = read_file(file("surface.json"));
    write_text(file("x.journal"), R"({"in_channels": 1, "out_channels": 1, "kernel_size": [3], "input": [1, 1, 4]})");
    for (const char* output : {"--json", "--report", "--journal", "--records"})
        expect_refused(fmt::format("{} surface.json", output), output);
    expect_refused("--layers x.journal --json x", "--journal: \"x.journal\"");
    EXPECT_EQ(read_file(file("surface.json")), before);
}

TEST_F(AutotuneOutput, NoTwoAreOneFile) {
    write_text(file("there"), "");
    fs::create_symlink("there", directory_ / "to_there");
    fs::create_hard_link(directory_ / "there", directory_ / "same_as_there");
    fs::create_symlink("not_yet", directory_ / "to_not_yet");
    for (const auto& [one, other] : {std::pair<const char*, const char*>{"--json", "--journal"},
                                     {"--json", "--report"},
                                     {"--journal", "--report"}})
        for (const auto& [a, b] : {std::pair<const char*, const char*>{"new", "./new"},
                                   {"there", "to_there"},
                                   {"there", "same_as_there"},
                                   {"to_not_yet", "not_yet"}})
            expect_refused(fmt::format("{} {} {} {}", one, a, other, b), fmt::format("the file that {} writes", one));
    expect_refused("--json - --report -", "the file that --json writes");
    expect_refused("--json a.json --report a.json.journal", "the file that --journal writes");
    EXPECT_EQ(tune("--json /dev/null --report /dev/null").code, 0) << "thrown away both";
}

}  // namespace
}  // namespace convt_jit::tools::test
