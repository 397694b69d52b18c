#include "sim/work_directory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

namespace convt_jit::sim {
namespace {

namespace fs = std::filesystem;

// $TMPDIR is a directory of its own for each test, removed afterwards.
class WorkDirectoryTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (const char* old = std::getenv("TMPDIR")) old_ = old;
        std::string pattern = (fs::temp_directory_path() / "convt_work_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        parent_ = pattern;
        setenv("TMPDIR", parent_.c_str(), 1);
    }
    void TearDown() override {
        old_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", old_.c_str(), 1);
        fs::remove_all(parent_);
    }
    [[nodiscard]] std::ptrdiff_t count() const {
        return std::distance(fs::directory_iterator(parent_), fs::directory_iterator());
    }
    // A process that makes a work directory, keeps it if asked to, and is killed.
    static void die_at_work(bool keep) {
        const pid_t child = fork();
        if (child == 0) {
            WorkDirectory work;
            const std::ofstream file(work.path() / "kernel.cpp");
            if (keep) work.keep();
            std::raise(SIGKILL);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status));
    }

    fs::path parent_;
    std::string old_;
};

TEST_F(WorkDirectoryTest, IsRemovedUnlessItIsKept) {
    { const WorkDirectory work; }
    EXPECT_EQ(count(), 0);
    {
        WorkDirectory work;
        work.keep();
    }
    EXPECT_EQ(count(), 1);
}

TEST_F(WorkDirectoryTest, WhatAKilledProcessLeftIsSwept) {
    die_at_work(false);
    ASSERT_EQ(count(), 1);
    EXPECT_EQ(sweep_work_directories(parent_), 1U);
    EXPECT_EQ(count(), 0);
}

TEST_F(WorkDirectoryTest, WhatIsInUseWasKeptOrIsNoneOfOursStays) {
    const WorkDirectory work;
    die_at_work(true);
    for (const char* name : {"convt_jit_sim_", "convt_jit_sim_abcdef", "convt_jit_sim_999999999", "other_999999999_a"})
        fs::create_directory(parent_ / name);
    EXPECT_EQ(sweep_work_directories(parent_), 0U);
    EXPECT_EQ(count(), 6);
    EXPECT_EQ(sweep_work_directories(parent_ / "missing"), 0U);
}

}  // namespace
}  // namespace convt_jit::sim
