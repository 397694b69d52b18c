#include "cache/trim.h"

#include "cache/disk_store.h"
#include "cache/inventory.h"
#include "cache/key_lock.h"
#include "cache/usage.h"
#include "unit/cache/sample.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

using namespace convt_jit;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

class Trim : public ::testing::Test {
protected:
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";

    std::string keep(const std::string& source, const std::string& arch = "sm_90a") {
        Entry entry = sample::entry(source, 1000);
        entry.key.arch = arch;
        const std::string key = digest(entry.key);
        EXPECT_TRUE(DiskStore(directory).put(key, entry));
        return key;
    }
    void age(const std::string& key, std::chrono::seconds by) const {
        fs::last_write_time(path(key), fs::last_write_time(path(key)) - by);
    }
    [[nodiscard]] std::string path(const std::string& key) const { return sample::entry_path(directory, key); }
    [[nodiscard]] bool there(const std::string& key) const { return fs::exists(path(key)); }
    [[nodiscard]] Root root() const {
        std::error_code error;
        auto opened = Root::open(directory, false, error);
        return std::move(opened.value());
    }
};

}  // namespace

TEST_F(Trim, RemovesTheLeastRecentlyUsedAndCounts) {
    const auto a = keep("a"), b = keep("b"), c = keep("c");
    age(a, 100s), age(b, 300s), age(c, 200s);
    const auto size = fs::file_size(path(a));
    const auto dry = trim(root(), 2 * size, 2 * size, true);
    EXPECT_TRUE(there(b)) << "a dry run changes nothing";
    const auto report = trim(root(), 2 * size, 2 * size, false);
    EXPECT_EQ(report.evicted, 1u);
    EXPECT_EQ(report.bytes_before, 3 * size);
    EXPECT_EQ(report.bytes_after, 2 * size);
    EXPECT_TRUE(there(a) && !there(b) && there(c));
    ASSERT_EQ(dry.judged.size(), report.judged.size());
    EXPECT_EQ(dry.evicted, report.evicted);
    EXPECT_EQ(add_usage(root(), 0)->bytes, 2 * size);
}

TEST_F(Trim, WhatCannotBeRemovedIsToldWithItsReason) {
    const auto a = keep("a");
    age(a, 24h);
    fs::remove_all(directory + "/holders");  // which somebody else could not read
    // Root may write anywhere, so it becomes somebody else for a moment.
    const fs::path folder = fs::path(path(a)).parent_path();
    const auto locked = fs::perms::owner_read | fs::perms::owner_exec | fs::perms::group_read | fs::perms::group_exec |
                        fs::perms::others_read | fs::perms::others_exec;
    const Root opened = root();
    for (const fs::path& place : {fs::path(directory), folder}) fs::permissions(place, locked);
    const uid_t self = geteuid();
    if (self == 0) {
        ASSERT_EQ(seteuid(65534), 0);
    }
    const TrimReport report = prune(opened, PruneRule{}, false);
    if (self == 0) {
        ASSERT_EQ(seteuid(0), 0);
    }
    for (const fs::path& place : {fs::path(directory), folder}) fs::permissions(place, fs::perms::owner_all);
    ASSERT_EQ(report.judged.size(), 1U);
    EXPECT_FALSE(report.judged[0].gone);
    EXPECT_EQ(report.judged[0].failure, "Permission denied");
    EXPECT_EQ(report.evicted, 0U);
    EXPECT_EQ(report.bytes_after, report.bytes_before);
    EXPECT_TRUE(there(a));
}

TEST_F(Trim, AHitMakesAnEntryRecent) {
    const auto a = keep("a"), b = keep("b");
    age(a, 3000s), age(b, 2000s);
    { EXPECT_NE(DiskStore(directory).find(a), nullptr); }
    EXPECT_EQ(trim(root(), 1, 1, false, 0s).evicted, 2u) << "nobody holds them any more";
    const auto c = keep("c"), d = keep("d");
    age(c, 3000s), age(d, 2000s);
    { EXPECT_NE(DiskStore(directory).find(c), nullptr); }
    trim(root(), 2000, 1500, false, 0s);
    EXPECT_TRUE(there(c) && !there(d));
}

TEST_F(Trim, WhatALiveProcessHoldsStays) {
    const auto a = keep("a"), b = keep("b");
    age(a, 3000s), age(b, 2000s);
    {
        DiskStore live(directory);
        ASSERT_NE(live.find(a), nullptr);
        age(a, 9000s);
        EXPECT_EQ(trim(root(), 0, 0, false).evicted, 1u);
        EXPECT_TRUE(there(a) && !there(b));
    }
    EXPECT_EQ(trim(root(), 0, 0, false).evicted, 1u) << "its process is gone";
    EXPECT_TRUE(fs::is_empty(directory + "/holders"));
}

TEST_F(Trim, WhatAKilledProcessHeldGoes) {
    const auto a = keep("a");
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        DiskStore store(directory);
        const bool found = store.find(a) != nullptr;
        static_cast<void>(!::write(ready[1], found ? "y" : "n", 1));
        ::pause();
    }
    char found = 0;
    ASSERT_EQ(::read(ready[0], &found, 1), 1);
    EXPECT_EQ(found, 'y');
    age(a, 3000s);
    EXPECT_EQ(trim(root(), 0, 0, false).evicted, 0u);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(trim(root(), 0, 0, false).evicted, 1u);
}

TEST_F(Trim, KilledProcessesDoNotPileUp) {
    const auto a = keep("a");
    for (int i = 0; i < 200; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            DiskStore store(directory);
            static_cast<void>(store.find(a));
            ::_exit(0);  // without destructors, as a killed process
        }
        ::waitpid(child, nullptr, 0);
    }
    EXPECT_LE(std::distance(fs::directory_iterator(directory + "/holders"), {}), 66);
}

TEST_F(Trim, AfterTheClockWasSetBackTheOrderOfUseStillCounts) {
    const auto a = keep("a"), b = keep("b"), c = keep("c");
    // As if the clock had run a year ahead until now.
    age(a, -(365 * 24h + 10s)), age(b, -(365 * 24h + 20s)), age(c, -(365 * 24h + 30s));
    fs::last_write_time(directory + "/clock", fs::last_write_time(path(c)));
    { EXPECT_NE(DiskStore(directory).find(a), nullptr); }
    const auto d = keep("d");
    const auto size = fs::file_size(path(a));
    trim(root(), 3 * size, 2 * size, false);
    EXPECT_TRUE(there(a)) << "used after the clock was set back";
    EXPECT_FALSE(there(b) || there(c)) << "not used since";
    EXPECT_TRUE(there(d)) << "made after the clock was set back";
}

TEST_F(Trim, PutTrimsWhenTheCapIsReached) {
    DiskOptions options{.directory = directory, .max_bytes = 10'000};
    for (int i = 0; i < 40; ++i) {
        const Entry entry = sample::entry("source " + std::to_string(i), 1000);
        const std::string key = digest(entry.key);
        ASSERT_TRUE(DiskStore(options).put(key, entry));
        age(key, std::chrono::seconds(1000 - i));
        EXPECT_LE(total_bytes(list_items(root())), 10'000u + 2000u);
    }
    EXPECT_GE(list_items(root()).size(), 5u);
    EXPECT_TRUE(there(digest(sample::entry("source 39", 1000).key))) << "the newest stays";
}

TEST_F(Trim, ALostEstimateIsCountedAnew) {
    keep("a");
    const auto b = keep("b");
    fs::remove(directory + "/usage");
    keep("c");
    EXPECT_EQ(add_usage(root(), 0)->bytes, total_bytes(list_items(root())));
    std::ofstream(directory + "/usage") << "rubbish";
    keep("d");
    EXPECT_EQ(add_usage(root(), 0)->bytes, total_bytes(list_items(root())));
    keep("b");
    EXPECT_EQ(add_usage(root(), 0)->bytes, total_bytes(list_items(root()))) << "a replaced entry counts once";
    EXPECT_TRUE(there(b));
}

TEST_F(Trim, NothingIsLeftOfALongerEstimate) {
    keep("a");
    std::ofstream(directory + "/usage", std::ios::app) << std::string(1000, 'x');
    keep("b");
    EXPECT_EQ(fs::file_size(directory + "/usage"), to_string(Usage()).size());
    EXPECT_EQ(add_usage(root(), 0)->bytes, total_bytes(list_items(root())));
    fs::create_hard_link(directory + "/usage", directory + "/old");
    const auto old = fs::file_size(directory + "/old");
    keep("c");
    EXPECT_EQ(fs::hard_link_count(directory + "/usage"), 1u) << "written whole under another name, then renamed";
    EXPECT_EQ(fs::file_size(directory + "/old"), old);
}

TEST_F(Trim, PrunesByArchAndAge) {
    const auto old = keep("a", "sm_80"), fresh = keep("b", "sm_80"), other = keep("c", "sm_90a");
    age(old, 3600s);
    EXPECT_EQ(prune(root(), {{"sm_80"}, 600s, {}}, true).evicted, 1u);
    EXPECT_EQ(prune(root(), {{"sm_80"}, 600s, {}}, false).evicted, 1u);
    EXPECT_TRUE(!there(old) && there(fresh) && there(other));
    EXPECT_EQ(prune(root(), {{"sm_80"}, 0s, {}}, false).evicted, 1u);
    EXPECT_TRUE(there(other));
}

TEST_F(Trim, PruningHoldsNoneForOldSinceAnotherStampLiesAhead) {
    const auto young = keep("a"), ahead = keep("b"), old = keep("c");
    age(old, 48h);
    const auto far = std::chrono::hours(24 * 365 * 100);
    for (const std::string& file : {path(ahead), directory + "/clock"}) {
        fs::last_write_time(file, fs::last_write_time(file) + far);
        const auto report = prune(root(), {{}, 3600s, {}}, true);
        EXPECT_EQ(report.evicted, 1u) << file;
        for (const auto& judged : report.judged) EXPECT_EQ(judged.gone, judged.candidate.key == old) << file;
    }
    // After April 2262 nanoseconds do not fit any more.
    const timespec times[2] = {{0, UTIME_OMIT}, {10'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path(ahead).c_str(), times, 0), 0);
    EXPECT_EQ(prune(root(), {{}, 3600s, {}}, false).evicted, 1u);
    EXPECT_TRUE(there(young) && there(ahead) && !there(old));
}

TEST_F(Trim, OnlyOneProcessTrimsAtATime) {
    keep("a");
    KeyLock other(root());
    ASSERT_EQ(other.try_lock_trim(), LockState::held);
    EXPECT_TRUE(trim(root(), 0, 0, false, 0s).busy);
    EXPECT_FALSE(trim(root(), 0, 0, true, 0s).busy) << "a dry run disturbs nobody";
}

TEST_F(Trim, SweepsOrphans) {
    keep("a");
    std::ofstream(directory + "/00.tmp") << "not ours";
    fs::create_directory(directory + "/00");
    const std::string orphan = directory + "/00/.elsewhere-1-00c0ffee00c0ffee.tmp";
    const std::string young = directory + "/00/.elsewhere-1-00c0ffee00c0ffff.tmp";
    std::ofstream(orphan) << "x";
    std::ofstream(young) << "x";
    fs::last_write_time(orphan, fs::last_write_time(orphan) - 2h);
    EXPECT_EQ(trim(root(), 1 << 20, 1 << 20, true).orphans, 1u);
    EXPECT_TRUE(fs::exists(orphan));
    EXPECT_EQ(trim(root(), 1 << 20, 1 << 20, false).orphans, 1u);
    EXPECT_FALSE(fs::exists(orphan));
    EXPECT_TRUE(fs::exists(young) && fs::exists(directory + "/00.tmp"));
}
