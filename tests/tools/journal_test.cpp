#include "autotune/journal.h"

#include "program.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <sstream>

namespace convt_jit::tools::test {
namespace {

class JournalTest : public ProgramTest {
protected:
    [[nodiscard]] std::string path() const { return (directory_ / "journal").string(); }
    Request request_{Work::measure, "c1 o1 in4 k3", "sm_80", "direct", "unrolled", 2, true};
    Measurement measured_ = [] {
        Measurement m;
        m.ms = {1, 2};
        m.against_ms = {3, 4};
        m.rel_l2 = 1e-7;
        m.registers = 32;
        return m;
    }();
};

TEST_F(JournalTest, RemembersWhatWasMeasured) {
    { Journal(path(), "a card").add(request_, measured_); }
    const Journal again(path(), "a card");
    const auto found = again.find(request_);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->ms, measured_.ms);
    EXPECT_EQ(found->against_ms, measured_.against_ms);
    EXPECT_EQ(found->rel_l2, measured_.rel_l2);
    EXPECT_EQ(found->registers, 32);
    Request other = request_;
    other.launches = 27;
    EXPECT_FALSE(again.find(other));
}

TEST_F(JournalTest, OfAnotherCardSaysNothing) {
    { Journal(path(), "a card").add(request_, measured_); }
    EXPECT_FALSE(Journal(path(), "another").find(request_));
}

TEST_F(JournalTest, CutAnywhereKeepsTheWholeLines) {
    {
        Journal journal(path(), "a card");
        journal.add(request_, measured_);
        request_.plan = "unrolled";
        journal.add(request_, measured_);
    }
    const std::string whole = read_file(path());
    const std::size_t first = whole.find('\n') + 1;
    for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
        write_text(path(), whole.substr(0, cut));
        {
            Journal journal(path(), "a card");
            EXPECT_LE(journal.size(), cut < first ? 1U : 2U);
            EXPECT_GE(journal.size(), cut < first ? 0U : 1U);
            journal.add(request_, measured_);
        }
        EXPECT_TRUE(Journal(path(), "a card").find(request_)) << "a torn line takes no other with it";
    }
}

TEST_F(JournalTest, AnswersThatAreNoneAreNotBelieved) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(is_sound(request_, measured_));
    const auto with = [&](std::vector<double> ms, std::vector<double> against) {
        Measurement m = measured_;
        m.ms = std::move(ms);
        m.against_ms = std::move(against);
        return m;
    };
    for (const Measurement& m :
         {with({1, 2}, {}), with({1, 2}, {3}), with({}, {}), with({-1, 2}, {3, 4}), with({0, 2}, {3, 4}),
          with({1, 2}, {3, 0}), with({1, kInf}, {3, 4}), with({1, 2}, {kNan, 4}), with({1}, {3, 4})}) {
        EXPECT_FALSE(is_sound(request_, m)) << to_json(m);
        std::filesystem::remove(path());
        { Journal(path(), "a card").add(request_, m); }
        EXPECT_FALSE(Journal(path(), "a card").find(request_)) << to_json(m);
    }
    Request alone = request_;
    alone.against.clear();
    EXPECT_FALSE(is_sound(alone, measured_));
    EXPECT_TRUE(is_sound(alone, with({1, 2}, {})));
    Measurement failed;
    failed.state = CandidateState::hung;
    EXPECT_TRUE(is_sound(request_, failed));
    failed.state = CandidateState::halved_out;
    EXPECT_FALSE(is_sound(request_, failed)) << "that is for the tuner to say";
}

TEST_F(JournalTest, IsNoOtherFile) {
    { Journal(path(), "a card").add(request_, measured_); }
    const std::string line = read_file(path());
    const auto journal = [](const std::string& text) {
        std::istringstream lines(text);
        return is_journal(lines);
    };
    for (std::size_t cut = 0; cut <= line.size(); ++cut) {
        EXPECT_TRUE(journal(line.substr(0, cut))) << cut;
        EXPECT_TRUE(journal(line.substr(0, cut) + "\n" + line)) << cut;
        EXPECT_TRUE(journal(line + line.substr(0, cut))) << cut;
    }
    EXPECT_TRUE(journal(line + std::string(40, '\0')));
    for (const char* other :
         {"notes\n", "{\n  \"results\": []\n}\n", "{}", "[1]", "{\"setting\": \"x\"}", "{\"a\": ", "7"}) {
        EXPECT_FALSE(journal(other)) << other;
        if (other[0] == '{' && other[1] == '"') continue;
        EXPECT_FALSE(journal(line + other)) << other;
    }
}

TEST_F(JournalTest, AFileThatIsNoneIsRefusedAndStays) {
    write_text(directory_ / "surface.json", R"({"card": "made up", "arch": "sm_80"})");
    write_text(directory_ / "notes", "notes\n");
    ASSERT_EQ(::mkfifo((directory_ / "pipe").c_str(), 0600), 0);
    std::filesystem::copy_file(directory_ / "notes", directory_ / "out.journal");
    const std::string command =
        "autotune 'n1 c4 o4 in8 k3' --candidates 1 --exhaustive --surface " + (directory_ / "surface.json").string();
    for (const std::string& file : {(directory_ / "notes").string(), (directory_ / "pipe").string(),
                                    directory_.string(), std::string("/dev/full"), std::string("/dev/null")}) {
        const Outcome outcome =
            convt(command + " --json " + (directory_ / "other").string() + " --journal '" + file + "'");
        EXPECT_EQ(outcome.code, 2) << file;
        EXPECT_THAT(outcome.err, ::testing::HasSubstr("--journal: \"" + file)) << outcome.err;
    }
    EXPECT_EQ(convt(command + " --json " + (directory_ / "out").string()).code, 2)
        << "the one that goes without saying";
    EXPECT_EQ(read_file(directory_ / "notes"), "notes\n");
    EXPECT_EQ(read_file(directory_ / "out.journal"), "notes\n");
}

TEST_F(JournalTest, ThatCannotBeWrittenIsToldOnceAndTheRestIsKept) {
    constexpr std::size_t kRoom = 4096;  // enough for what is told, which goes to a file here, too
    write_text(path(), std::string(kRoom - 11, ' ') + "\n");
    Journal journal(path(), "a card");
    struct rlimit before {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    struct rlimit little = before;
    little.rlim_cur = kRoom;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &little), 0);
    ::testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i) journal.add(request_, measured_);
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
    journal.add(request_, measured_);
    const std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(told, ::testing::HasSubstr("--journal: " + path() + " cannot be written to"));
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    EXPECT_TRUE(Journal(path(), "a card").find(request_)) << "behind a line that was cut";
}

TEST_F(JournalTest, WithoutAPathNothingIsKept) {
    Journal journal("", "a card");
    journal.add(request_, measured_);
    EXPECT_FALSE(journal.find(request_));
}

}  // namespace
}  // namespace convt_jit::tools::test
