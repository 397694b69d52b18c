#include "autotune/journal.h"

#include "program.h"

namespace convt_jit::tools::test {
namespace {

class JournalTest : public ProgramTest {
protected:
    [[nodiscard]] std::string path() const { return (directory_ / "journal").string(); }
    Request request_{Work::measure, "c1 o1 in4 k3", "sm_80", "direct", "", 9, true};
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

TEST_F(JournalTest, WithoutAPathNothingIsKept) {
    Journal journal("", "a card");
    journal.add(request_, measured_);
    EXPECT_FALSE(journal.find(request_));
}

}  // namespace
}  // namespace convt_jit::tools::test
