// System calls that fail as they do on network file systems, through a preloaded library.
#include "cache/disk_store.h"
#include "fault/cache/process.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

using namespace convt_jit;
using fault::Process;
using fault::Variables;
namespace fs = std::filesystem;

namespace {

struct Outcome {
    int code;
    std::string output, errors;
};

Outcome run(std::vector<std::string> words, const std::string& calls, Variables more = {}) {
    words.insert(words.begin(), CACHE_ACTOR);
    more.insert(more.end(), {{"LD_PRELOAD", CACHE_FAULTY_CALLS},
                             {"FAULTY_CALLS", calls},
                             {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"}});
    Process process(words, more);
    Outcome outcome{0, process.output(), process.errors()};
    outcome.code = process.wait();
    return outcome;
}

std::string with(const char* call, int error) { return std::string(call) + "=" + std::to_string(error); }

std::size_t files(const std::string& directory, const std::string& extension) {
    std::size_t count = 0;
    for (const auto& item : fs::recursive_directory_iterator(directory))
        count += item.path().extension() == extension ? 1 : 0;
    return count;
}

class Calls : public ::testing::Test {
protected:
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";

    Outcome put(const std::string& calls, Variables more = {}) {
        return run({"put", directory, "kernel", "1000"}, calls, std::move(more));
    }
    Outcome find(const std::string& calls, Variables more = {}) {
        return run({"find", directory, "kernel"}, calls, std::move(more));
    }
    void keep() { ASSERT_EQ(put("none=1").output, "kept\n"); }
};

}  // namespace

TEST_F(Calls, APassingRenameErrorIsMended) {
    for (const int error : {EBUSY, ESTALE, ENOENT}) {
        const auto outcome = put(with("renameat", error), {{"FAULTY_TIMES", "2"}, {"FAULTY_PATH", ".tmp"}});
        EXPECT_EQ(outcome.output, "kept\n") << error;
        EXPECT_EQ(outcome.errors, "") << error;
        EXPECT_EQ(find("none=1").output, "hit\n");
        EXPECT_EQ(files(directory, ".tmp"), 0u);
        fs::remove_all(directory);
    }
}

TEST_F(Calls, ALastingErrorFailsNothingButTheKeeping) {
    const std::pair<const char*, int> faults[] = {
        {"renameat", EBUSY}, {"renameat", ESTALE}, {"renameat", ENOENT}, {"renameat", EXDEV}, {"fsync", EIO},
        {"fsync", EDQUOT},   {"close", EIO},       {"close", EDQUOT},    {"write", ENOSPC},   {"write", EDQUOT},
        {"mkdirat", EROFS},  {"mkdirat", EACCES},  {"openat", EMFILE},   {"openat", EACCES}};
    for (const auto& [call, error] : faults) {
        const auto outcome = put(with(call, error));
        EXPECT_EQ(outcome.code, 0) << call << " " << error;
        EXPECT_EQ(outcome.output, "refused\n") << call << " " << error;
        EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 1) << outcome.errors;
        if (fs::exists(directory)) {
            EXPECT_EQ(files(directory, ".tmp"), 0u) << call << " " << error;
            EXPECT_EQ(files(directory, ".cubin"), 0u) << "never under its name before all was well";
        }
        fs::remove_all(directory);
    }
}

TEST_F(Calls, ALoserOfARaceIsNoFailure) {
    keep();
    const auto outcome = put(with("renameat", EBUSY));
    EXPECT_EQ(outcome.output, "kept\n");
    EXPECT_EQ(outcome.errors, "");
}

TEST_F(Calls, WhatOnlyServesOthersMayFail) {
    for (const auto& [call, error] : {std::pair("flock", EBUSY),
                                      {"flock", ENOLCK},
                                      {"flock", ENOSYS},
                                      {"fcntl", ENOLCK},
                                      {"fcntl", EINVAL},
                                      {"futimens", EPERM},
                                      {"fsync", EINVAL}}) {
        const auto outcome = put(with(call, error));
        EXPECT_EQ(outcome.output, "kept\n") << call << " " << error;
        EXPECT_EQ(outcome.errors, "") << call << " " << error;
        EXPECT_EQ(find(with(call, error)).output, "hit\n") << call << " " << error;
        fs::remove_all(directory);
    }
}

TEST_F(Calls, ShortAndInterruptedCallsAreContinued) {
    EXPECT_EQ(put("write=short").output, "kept\n");
    EXPECT_EQ(find("read=short").output, "hit\n");
    EXPECT_EQ(put(with("write", EINTR), {{"FAULTY_TIMES", "5"}}).output, "kept\n");
    EXPECT_EQ(find(with("read", EINTR), {{"FAULTY_TIMES", "5"}}).output, "hit\n");
    EXPECT_EQ(find(with("openat", EINTR), {{"FAULTY_TIMES", "5"}}).output, "hit\n");
}

TEST_F(Calls, AStaleHandleIsOpenedAgain) {
    keep();
    EXPECT_EQ(find(with("openat", ESTALE), {{"FAULTY_TIMES", "2"}, {"FAULTY_PATH", ".cubin"}}).output, "hit\n");
    const auto lasting = find(with("openat", ESTALE), {{"FAULTY_PATH", ".cubin"}});
    EXPECT_EQ(lasting.output, "miss\n");
    EXPECT_EQ(std::count(lasting.errors.begin(), lasting.errors.end(), '\n'), 1) << lasting.errors;
}

TEST_F(Calls, AnUnreadableEntryIsAMissAndStays) {
    keep();
    for (const int error : {EIO, EACCES, EMFILE}) {
        const auto outcome = find(with("openat", error), {{"FAULTY_PATH", ".cubin"}});
        EXPECT_EQ(outcome.output, "miss\n");
        EXPECT_EQ(std::count(outcome.errors.begin(), outcome.errors.end(), '\n'), 1) << outcome.errors;
    }
    EXPECT_EQ(find(with("read", EIO)).output, "miss\n");
    EXPECT_EQ(find(with("openat", ENOENT), {{"FAULTY_PATH", ".cubin"}}).errors, "") << "a file not seen yet is a miss";
    EXPECT_EQ(find("none=1").output, "hit\n");
}

TEST_F(Calls, WithoutLocksEveryoneCompilesAndNobodyHangs) {
    for (const char* calls : {"fcntl=37", "fcntl=22", "fcntl=5", "fcntl=16"}) {
        std::vector<Process> all;
        for (int i = 0; i < 4; ++i)
            all.emplace_back(std::vector<std::string>{CACHE_ACTOR, "make", directory, "kernel", "30000", "50"},
                             Variables{{"LD_PRELOAD", CACHE_FAULTY_CALLS},
                                       {"FAULTY_CALLS", calls},
                                       {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"}});
        for (auto& process : all) EXPECT_EQ(process.wait(), 0) << calls;
        EXPECT_EQ(find("none=1").output, "hit\n");
        fs::remove_all(directory);
    }
}
