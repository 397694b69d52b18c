// The small pure decisions of the room: trust, stamps, orphans, live holders, the usage file, settings.
#include "cache/clock.h"
#include "cache/holders.h"
#include "cache/settings.h"
#include "cache/temporary.h"
#include "cache/trust.h"
#include "cache/usage.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

using namespace convt_jit;
using namespace std::chrono_literals;

namespace {

std::error_code judge(uid_t owner, mode_t mode, bool declared = false) {
    struct stat status {};
    status.st_uid = owner;
    status.st_mode = mode;
    return distrust(status, 1000, declared);
}

constexpr Stamp kMinute = 60'000'000'000;

}  // namespace

TEST(Trust, OwnAndRootsFilesThatNobodyElseCanWrite) {
    EXPECT_FALSE(judge(1000, 0700));
    EXPECT_FALSE(judge(1000, 0755));
    EXPECT_FALSE(judge(0, 0644));
    EXPECT_EQ(judge(1001, 0700), Distrust::foreign_owner);
    EXPECT_EQ(judge(1000, 0770), Distrust::group_writable);
    EXPECT_EQ(judge(1000, 0702), Distrust::world_writable);
    EXPECT_EQ(judge(0, 01777), Distrust::world_writable);
    EXPECT_FALSE(judge(1001, 0777, true));
    EXPECT_TRUE(is_distrust(judge(1001, 0700)));
    EXPECT_NE(judge(1001, 0700).message().find("CONVT_JIT_CACHE_TRUSTED"), std::string::npos);
}

TEST(Clock, AUseIsStampedOncePerInterval) {
    const CacheTime time{1000 * kMinute, 999 * kMinute};
    EXPECT_EQ(next_stamp(995 * kMinute, time), std::nullopt);
    EXPECT_EQ(next_stamp(990 * kMinute, time), 1000 * kMinute);
    EXPECT_EQ(next_stamp(0, time), 1000 * kMinute);
    EXPECT_EQ(next_stamp(1001 * kMinute, time), 1000 * kMinute) << "a stamp from the future is mended";
}

TEST(Clock, NeverRunsBackwards) {
    const CacheTime back{500 * kMinute, 1000 * kMinute};
    EXPECT_TRUE(back.set_back());
    EXPECT_EQ(next_stamp(1000 * kMinute, back), 1000 * kMinute + 1);
    EXPECT_EQ(next_stamp(499 * kMinute, back), 1000 * kMinute + 1);
    EXPECT_EQ(back.now(), 1000 * kMinute + 1);
}

TEST(Temporary, NamesSayWhoWrites) {
    const Writer writer{"node-7.example-site", 4711, "00c0ffee00c0ffee"};
    EXPECT_EQ(temporary_name(writer), ".node-7.example-site-4711-00c0ffee00c0ffee.tmp");
    EXPECT_EQ(parse_temporary_name(temporary_name(writer)), writer);
    EXPECT_EQ(parse_temporary_name(temporary_name(this_writer()))->pid, this_writer().pid);
    EXPECT_NE(this_writer(), this_writer());
    EXPECT_TRUE(is_local(this_writer()));
    EXPECT_LE(temporary_name(this_writer()).size(), 255u);
    for (const char* name :
         {"", ".tmp", ".a.tmp", ".a-1-2.tmp", ".a-0-00c0ffee00c0ffee.tmp", ".a-x-00c0ffee00c0ffee.tmp",
          ".-1-00c0ffee00c0ffee.tmp", "a-1-00c0ffee00c0ffee.tmp", ".a--1-00c0ffee00c0ffeeX.tmp",
          ".a-99999999999999-00c0ffee00c0ffee.tmp", ".a-1-00C0FFEE00C0FFEE.tmp"})
        EXPECT_EQ(parse_temporary_name(name), std::nullopt) << name;
}

TEST(Temporary, OnlyTheDeadLeaveOrphans) {
    EXPECT_FALSE(is_orphan({.local = true, .running = true, .locked = false, .age = 5s}));
    EXPECT_TRUE(is_orphan({.local = true, .running = false, .locked = false, .age = 0s}));
    EXPECT_FALSE(is_orphan({.local = true, .running = false, .locked = true, .age = 0s}));
    EXPECT_FALSE(is_orphan({.local = false, .running = false, .locked = false, .age = 30min}));
    EXPECT_TRUE(is_orphan({.local = false, .running = false, .locked = false, .age = 61min}));
    EXPECT_FALSE(is_orphan({.local = false, .running = true, .locked = true, .age = 61min}));
    EXPECT_FALSE(is_orphan({.local = false, .running = false, .locked = false, .age = -24h})) << "clock set back";
}

TEST(Temporary, AZombieDoesNotRun) {
    const auto stat = [](const char* name, char state, int threads) {
        return "4711 (" + std::string(name) + ") " + state + " 1 2 3 0 -1 4 5 6 7 8 9 10 11 12 20 0 " +
               std::to_string(threads) + " 0 1000 4096 100\n";
    };
    for (const char* name : {"convt", "a) Z 1", ""}) {
        EXPECT_FALSE(has_ended(stat(name, 'S', 1)));
        EXPECT_FALSE(has_ended(stat(name, 'R', 12)));
        EXPECT_TRUE(has_ended(stat(name, 'Z', 1)));
        EXPECT_FALSE(has_ended(stat(name, 'Z', 12))) << "its other threads run on";
        EXPECT_TRUE(has_ended(stat(name, 'X', 1)));
    }
    for (const char* nonsense : {"", "4711", "4711 (convt)", "4711 (convt) ", "4711 (convt) Z", "4711 (convt) Z 1 2"})
        EXPECT_FALSE(has_ended(nonsense)) << nonsense;
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_FALSE(is_running(child));
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_FALSE(is_running(child));
    EXPECT_TRUE(is_running(::getpid()));
}

TEST(Clock, StampsBeyondTheirRangeAreItsEnds) {
    EXPECT_EQ(to_stamp({1, 5}), 1'000'000'005);
    EXPECT_EQ(to_stamp({-1, 5}), 0) << "before 1970";
    EXPECT_EQ(to_stamp({INT64_MIN, 0}), 0);
    EXPECT_EQ(to_stamp({INT64_MAX / 1'000'000'000, 999'999'999}), INT64_MAX) << "after April 2262";
    EXPECT_EQ(to_stamp({INT64_MAX, 0}), INT64_MAX);
    const CacheTime last{1000 * kMinute, INT64_MAX};
    EXPECT_EQ(last.now(), INT64_MAX);
    EXPECT_EQ(next_stamp(INT64_MAX, last), INT64_MAX);
}

TEST(Holders, WhoIsAlive) {
    EXPECT_TRUE(is_alive({.locked = true}));
    EXPECT_FALSE(is_alive({.promised_lock = true, .locks_are_shared = true, .local = true, .running = true}));
    EXPECT_TRUE(
        is_alive({.promised_lock = false, .locks_are_shared = true, .local = true, .running = true, .age = 1h}));
    EXPECT_FALSE(is_alive({.promised_lock = false, .local = true, .running = false, .age = 1h}));
    EXPECT_TRUE(is_alive({.promised_lock = true, .locks_are_shared = false, .local = false, .age = 1h}));
    EXPECT_FALSE(is_alive({.promised_lock = true, .locks_are_shared = false, .local = false, .age = 25h}));
}

TEST(Usage, ReadsOnlyWhatItWrote) {
    const Usage usage{123456789, 1700000000};
    EXPECT_EQ(parse_usage(to_string(usage)), usage);
    EXPECT_EQ(to_string(Usage{0, 0}).size(), to_string(Usage{UINT64_MAX, 1}).size());
    EXPECT_EQ(parse_usage(""), std::nullopt);
    EXPECT_EQ(parse_usage(std::string(42, 'x')), std::nullopt);
    EXPECT_EQ(parse_usage(to_string(usage) + "1"), std::nullopt);
    EXPECT_TRUE(is_fresh({0, 1000}, 1000 + 3600));
    EXPECT_FALSE(is_fresh({0, 1000}, 1000 + 25 * 3600));
    EXPECT_FALSE(is_fresh({0, 1000}, 999)) << "clock set back";
}

TEST(Settings, Bytes) {
    EXPECT_EQ(parse_bytes("0"), 0u);
    EXPECT_EQ(parse_bytes("1073741824"), 1u << 30);
    EXPECT_EQ(parse_bytes("512k"), 512u << 10);
    EXPECT_EQ(parse_bytes("64M"), 64u << 20);
    EXPECT_EQ(parse_bytes("2T"), std::uint64_t{2} << 40);
    EXPECT_EQ(parse_bytes("16777215T"), std::uint64_t{16777215} << 40);
    for (const char* text : {"", "G", "-1", "1.5G", "1GB", "1 G", "16777216T", "99999999999999999999", "1X"})
        EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(Settings, Paths) {
    EXPECT_EQ(split_path("/a:/b"), (std::vector<std::string>{"/a", "/b"}));
    EXPECT_EQ(split_path("::/a::"), std::vector<std::string>{"/a"});
    EXPECT_TRUE(split_path("").empty());
    EXPECT_TRUE(is_declared_trusted("/shared/cache", {"/x", "/shared"}));
    EXPECT_TRUE(is_declared_trusted("/shared/", {"/shared"}));
    EXPECT_TRUE(is_declared_trusted("/shared", {"/shared/"}));
    EXPECT_FALSE(is_declared_trusted("/shared2", {"/shared"}));
    EXPECT_FALSE(is_declared_trusted("/shared/../etc", {"/shared"}));
    EXPECT_FALSE(is_declared_trusted("/", {"/shared"}));
}

TEST(Settings, AReadOnlyDirectoryThatIsNoneIsWarnedAboutOnce) {
    const sample::Scratch scratch;
    const std::string file = scratch / "file", missing = scratch / "missing";
    std::ofstream(file) << "x";
    const sample::Warnings warnings;
    for (int i = 0; i < 2; ++i) check_layers({scratch.path().string(), missing, file, file + "/below"});
    ASSERT_EQ(warnings.lines().size(), 3u);
    EXPECT_NE(warnings.lines()[0].find('"' + missing + "\", which is not there; allowed: "), std::string::npos);
    EXPECT_NE(warnings.lines()[1].find('"' + file + "\", which is no directory; allowed: "), std::string::npos);
    CacheSettings settings;
    settings.layers = {missing};
    EXPECT_NE(open_disk_stores(settings), nullptr);
    EXPECT_EQ(warnings.lines().size(), 3u);
    settings.layers = {scratch / "another"};
    EXPECT_NE(open_disk_stores(settings), nullptr);
    EXPECT_EQ(warnings.lines().size(), 4u) << "an engine warns";
}

TEST(Settings, ABadVariableIsWarnedAboutAndIgnored) {
    const std::pair<const char*, const char*> variables[] = {
        {"CONVT_JIT_CACHE_DIR", "/c"},     {"CONVT_JIT_CACHE_PATH", "/a:/b"},
        {"CONVT_JIT_CACHE_TRUSTED", "/b"}, {"CONVT_JIT_CACHE_MAX_BYTES", "64M"},
        {"CONVT_JIT_CACHE_WAIT", "0.5"},   {"CONVT_JIT_CACHE_PRODUCER", "same-major"}};
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
    CacheSettings expected;
    expected.directory = "/c";
    expected.layers = {"/a", "/b"};
    expected.trusted = {"/b"};
    expected.max_bytes = 64 << 20;
    expected.wait = 500ms;
    expected.producer = ProducerPolicy::same_major;
    EXPECT_EQ(cache_settings(), expected);
    EXPECT_EQ(open_disk_stores(expected)->describe(), "disk /c, read-only disk /a, read-only disk /b");

    const sample::Warnings warnings;
    for (const char* name : {"CONVT_JIT_CACHE_MAX_BYTES", "CONVT_JIT_CACHE_WAIT", "CONVT_JIT_CACHE_PRODUCER"})
        ::setenv(name, "lots", 1);
    const CacheSettings defaults;
    EXPECT_EQ(cache_settings().max_bytes, defaults.max_bytes);
    EXPECT_EQ(cache_settings().wait, defaults.wait);
    EXPECT_EQ(cache_settings().producer, defaults.producer);
    EXPECT_EQ(warnings.lines().size(), 3u) << "one for each variable, however often it is read";
    ::setenv("CONVT_JIT_CACHE_WAIT", "more", 1);
    EXPECT_EQ(cache_settings().wait, defaults.wait);
    EXPECT_EQ(warnings.lines().size(), 4u) << "another error is another warning";
    for (const auto& [name, value] : variables) ::unsetenv(name);
}
