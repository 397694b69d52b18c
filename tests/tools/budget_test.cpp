#include "warmup/budget.h"

#include "program.h"
#include "subject/usage_error.h"
#include "warmup/bar.h"
#include "warmup/shard.h"

#include <gtest/gtest.h>

#include <csignal>

namespace convt_jit::tools::test {
namespace {

constexpr std::uint64_t kMega = 1 << 20, kGiga = 1 << 30;

TEST(Budget, IsTheLeastOfAllLimits) {
    EXPECT_EQ(jobs_allowed({4, UINT64_MAX}, 0, 0), 4) << "as many as there are processors";
    EXPECT_EQ(jobs_allowed({4, UINT64_MAX}, 2, 0), 2);
    EXPECT_EQ(jobs_allowed({4, UINT64_MAX}, 9, 0), 9) << "more than processors, where that is asked for";
    EXPECT_EQ(jobs_allowed({64, kGiga}, 0, 0), 3) << "nine tenths of a gigabyte, 240 MB each";
    EXPECT_EQ(jobs_allowed({64, kGiga}, 0, 90 * kMega), 3) << "small kernels at the start promise nothing";
    EXPECT_EQ(jobs_allowed({64, kGiga}, 0, 300 * kMega), 2) << "450 MB each";
    EXPECT_EQ(jobs_allowed({64, kGiga}, 32, 2 * kGiga), 1) << "never less than one";
    EXPECT_EQ(jobs_allowed({0, 0}, 0, 0), 1);
}

TEST(Budget, WhatIsLostIsTriedOnceMore) {
    EXPECT_TRUE(after_loss(1, SIGKILL).again);
    EXPECT_TRUE(after_loss(1, SIGKILL).fewer_jobs);
    EXPECT_FALSE(after_loss(2, SIGKILL).again);
    EXPECT_TRUE(after_loss(1, SIGSEGV).again);
    EXPECT_FALSE(after_loss(1, SIGSEGV).fewer_jobs) << "no sign of too little memory";
}

TEST(Shards, AreDisjointAndTheWhole) {
    for (std::size_t count = 1; count < 7; ++count)
        for (std::size_t position = 0; position < 20; ++position) {
            std::size_t takers = 0;
            for (std::size_t index = 0; index < count; ++index) takers += Shard{index, count}.takes(position) ? 1 : 0;
            EXPECT_EQ(takers, 1U);
        }
}

TEST(Shards, AreReadStrictly) {
    EXPECT_EQ(parse_shard("0/1").count, 1U);
    EXPECT_EQ(parse_shard("7/8").index, 7U);
    for (const char* text : {"", "8/8", "1", "/", "1/", "/2", "0/0", "-1/2", "1/2x", "1 /2", "a/b"})
        EXPECT_THROW((void)parse_shard(text), UsageError) << text;
}

TEST(BarText, TellsWhatIsLeft) {
    Advance advance{10, 3, 2, 0, 4, 6.0, false};
    EXPECT_EQ(to_text(advance, 10), "[#####-----] 5/10 kernels: 3 compiled, 2 found, 0 failed; 4 jobs; 10 s left");
    EXPECT_EQ(to_text(advance, 0), "5/10 kernels: 3 compiled, 2 found, 0 failed; 4 jobs; 10 s left");
    EXPECT_EQ(seconds_left({10, 0, 5, 0, 1, 3.0, false}), std::nullopt) << "hits say nothing about compiling";
    EXPECT_EQ(seconds_left({10, 0, 10, 0, 1, 3.0, false}), 0);
    advance.stopping = true;
    EXPECT_EQ(to_text(advance, 0),
              "5/10 kernels: 3 compiled, 2 found, 0 failed; 4 jobs; stopping, what runs is finished");
}

// What the files of a machine say, made up.
class Machines : public ProgramTest {
protected:
    void say(const std::string& path, const std::string& text) const {
        const auto file = directory_ / path;
        std::filesystem::create_directories(file.parent_path());
        write_text(file, text + "\n");
    }
};

TEST_F(Machines, WithoutLimits) {
    EXPECT_EQ(read_machine(directory_, 3).processors, 3);
    EXPECT_EQ(read_machine(directory_, 0).processors, 1);
    EXPECT_EQ(read_machine(directory_, 1).free_bytes, UINT64_MAX);
    say("proc/meminfo", "MemTotal: 4096 kB\nMemAvailable:    1024 kB");
    EXPECT_EQ(read_machine(directory_, 1).free_bytes, kMega);
    EXPECT_GT(this_machine().free_bytes, kMega);
}

TEST_F(Machines, ControlGroupsOfVersion2) {
    say("proc/meminfo", "MemAvailable: 8388608 kB");
    say("proc/self/cgroup", "0::/slice/job");
    say("sys/fs/cgroup/slice/job/memory.max", "max");
    say("sys/fs/cgroup/slice/job/memory.current", "1000");
    say("sys/fs/cgroup/slice/job/cpu.max", "max 100000");
    say("sys/fs/cgroup/slice/memory.max", std::to_string(kGiga));
    say("sys/fs/cgroup/slice/memory.current", std::to_string(600 * kMega));
    say("sys/fs/cgroup/slice/memory.stat", "anon 5\ninactive_file " + std::to_string(100 * kMega));
    say("sys/fs/cgroup/slice/cpu.max", "250000 100000");
    const Machine machine = read_machine(directory_, 8);
    EXPECT_EQ(machine.processors, 2);
    EXPECT_EQ(machine.free_bytes, kGiga - 500 * kMega) << "page cache that can be dropped is free";
    EXPECT_EQ(read_machine(directory_, 1).processors, 1);
}

TEST_F(Machines, ControlGroupsOfVersion1SeenFromAContainer) {
    // The group's path is the host's; what is mounted here is the group itself.
    say("proc/self/cgroup", "4:memory:/docker/1234\n2:cpu,cpuacct:/docker/1234\n0::/");
    say("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(kGiga));
    say("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(2 * kGiga));
    say("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000");
    say("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
    EXPECT_EQ(read_machine(directory_, 8).processors, 1) << "half a processor";
    EXPECT_EQ(read_machine(directory_, 8).free_bytes, 0U);
    say("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    say("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
    EXPECT_EQ(read_machine(directory_, 8).processors, 8);
    EXPECT_EQ(read_machine(directory_, 8).free_bytes, UINT64_MAX);
}

}  // namespace
}  // namespace convt_jit::tools::test
