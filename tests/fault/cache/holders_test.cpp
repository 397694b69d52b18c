// What live processes use, where that cannot be read or trusted: all of it stays. And who only looks, changes nothing.
#include "cache/holders.h"

#include "cache/disk_store.h"
#include "cache/temporary.h"
#include "convt_jit/cache.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>

using namespace convt_jit;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kStranger = 65534;

class HoldersFault : public ::testing::Test {
protected:
    const sample::Scratch scratch;
    const std::string directory = scratch / "c", holders = directory + "/holders";
    const Cache cache{directory};
    std::string used, unused;

    void SetUp() override {
        for (auto [key, source] : {std::pair(&used, "a"), std::pair(&unused, "b")}) {
            *key = digest(sample::entry(source).key);
            ASSERT_TRUE(DiskStore(directory).put(*key, sample::entry(source)));
            const std::string path = sample::entry_path(directory, *key);
            fs::last_write_time(path, fs::last_write_time(path) - 24h);
        }
    }
    void TearDown() override { EXPECT_EQ(::seteuid(user_), 0); }

    // Permissions do not bind root.
    [[nodiscard]] bool become_somebody() {
        if (user_ != 0) return true;
        for (const auto& item : fs::recursive_directory_iterator(scratch.path()))
            if (::chown(item.path().c_str(), kStranger, kStranger) != 0) return false;
        return ::chown(scratch.path().c_str(), kStranger, kStranger) == 0 && ::seteuid(kStranger) == 0;
    }
    // In use since long ago.
    void hold(DiskStore& store) const {
        ASSERT_NE(store.find(used), nullptr);
        const std::string path = sample::entry_path(directory, used);
        fs::last_write_time(path, fs::last_write_time(path) - 24h);
    }
    [[nodiscard]] fs::path holder() const { return fs::directory_iterator(holders)->path(); }
    [[nodiscard]] std::map<std::string, std::string> content() const {
        std::map<std::string, std::string> all;
        for (const auto& item : fs::recursive_directory_iterator(directory)) {
            std::ifstream file(item.path(), std::ios::binary);
            all[item.path()] = item.is_regular_file() ? std::string(std::istreambuf_iterator<char>(file), {}) : "";
        }
        return all;
    }

    // Nothing goes, each says so once, and verify finds it.
    void expect_all_kept(const std::string& why) {
        SCOPED_TRACE(why);
        const auto warned_once = [&](const std::function<void()>& call) {
            const sample::Warnings warnings;
            call();
            ASSERT_EQ(warnings.lines().size(), 1u);
            EXPECT_NE(warnings.lines()[0].find(why), std::string::npos) << warnings.lines()[0];
        };
        for (const bool dry_run : {true, false})
            for (const bool pruned : {true, false}) {
                CacheTrim report;
                warned_once([&] { report = pruned ? cache.prune({}, 3600, dry_run) : cache.trim(0, dry_run); });
                EXPECT_EQ(report.evicted, 0u);
                EXPECT_NE(report.holders_unknown.find(why), std::string::npos) << report.holders_unknown;
                ASSERT_EQ(report.verdicts.size(), 2u);
                for (const auto& verdict : report.verdicts)
                    EXPECT_TRUE(verdict.verdict == "holders unknown" || verdict.verdict == "in use") << verdict.verdict;
            }
        warned_once([&] { EXPECT_NE(cache.stat().holders_unknown.find(why), std::string::npos); });
        warned_once([&] {
            for (const auto& entry : cache.list()) EXPECT_TRUE(entry.in_use);
        });
        const auto report = cache.verify();
        ASSERT_EQ(report.findings.size(), 1u);
        EXPECT_TRUE(report.findings[0].path.starts_with("holders")) << report.findings[0].path;
        EXPECT_NE(report.findings[0].why, "");
    }

private:
    const uid_t user_ = ::geteuid();
};

}  // namespace

TEST_F(HoldersFault, AFolderThatOthersMayWriteTo) {
    DiskStore live(directory);
    hold(live);
    fs::permissions(holders, fs::perms(0770));
    expect_all_kept("its group can write to it");
    fs::permissions(holders, fs::perms(0700));
    EXPECT_EQ(cache.trim(0).evicted, 1u) << "that in use stays";
    EXPECT_TRUE(fs::exists(sample::entry_path(directory, used)));
}

TEST_F(HoldersFault, AFolderThatCannotBeRead) {
    if (!become_somebody()) GTEST_SKIP() << "the user cannot be changed here";
    DiskStore live(directory);
    hold(live);
    ASSERT_EQ(::chmod(holders.c_str(), 0), 0);
    expect_all_kept("Permission denied");
    ASSERT_EQ(::chmod(holders.c_str(), 0700), 0);
}

TEST_F(HoldersFault, ALinkOrAFileInItsPlaceIsMovedAway) {
    fs::rename(holders, scratch / "elsewhere");
    fs::create_directory_symlink(scratch / "elsewhere", holders);
    expect_all_kept("it is a symbolic link");
    EXPECT_TRUE(cache.verify(true).findings.at(0).mended);
    std::ofstream(holders) << "x";
    expect_all_kept("Not a directory");
    EXPECT_TRUE(cache.verify(true).findings.at(0).mended);
    EXPECT_EQ(cache.trim(0).evicted, 2u);
}

TEST_F(HoldersFault, TheFileOfAHolderThatIsNotTrusted) {
    DiskStore live(directory);
    hold(live);
    const std::string file = holder();
    fs::permissions(file, fs::perms(0666));
    expect_all_kept("anybody can write to it");
    fs::permissions(file, fs::perms(0600));
    fs::rename(file, scratch / "elsewhere");
    fs::create_symlink(scratch / "elsewhere", file);
    expect_all_kept("Too many levels of symbolic links");
    EXPECT_TRUE(cache.verify(true).findings.at(0).mended);
    EXPECT_TRUE(cache.verify().findings.empty());
}

TEST_F(HoldersFault, AnEngineWarnsOnceAndKeepsAll) {
    fs::permissions(holders, fs::perms(0770));
    DiskStore store(DiskOptions{.directory = directory, .max_bytes = 1});
    const sample::Warnings warnings;
    for (const char* source : {"c", "d"}) {
        const Entry entry = sample::entry(source);
        EXPECT_TRUE(store.put(digest(entry.key), entry));
    }
    ASSERT_EQ(warnings.lines().size(), 1u);
    EXPECT_NE(warnings.lines()[0].find("nothing is evicted"), std::string::npos) << warnings.lines()[0];
    fs::permissions(holders, fs::perms(0700));
    EXPECT_EQ(cache.list().size(), 4u);
}

TEST_F(HoldersFault, WhoOnlyLooksLeavesTheDeadWhereTheyAre) {
    const Writer dead{this_writer().host, 999999999, "00c0ffee00c0ffee"};  // above any process number
    const std::string left = holders + "/" + to_string(dead);
    std::ofstream(left) << "locked\n" << used << "\n";
    fs::remove(directory + "/lock");
    fs::remove(directory + "/clock");
    const auto before = content();
    EXPECT_EQ(cache.list().size(), 2u);
    EXPECT_EQ(cache.stat().processes, 0u);
    EXPECT_EQ(cache.show(used).key, used);
    CacheWanted wanted;
    wanted.fields.arch = "sm_90a";
    static_cast<void>(cache.explain(wanted));
    static_cast<void>(cache.verify());
    EXPECT_EQ(cache.trim(0, true).evicted, 2u);
    EXPECT_EQ(cache.prune({}, 3600, true).evicted, 2u);
    EXPECT_EQ(content(), before);
    static_cast<void>(cache.verify(true));
    EXPECT_FALSE(fs::exists(left)) << "who repairs removes them";
    std::ofstream(left) << "locked\n" << used << "\n";
    EXPECT_EQ(cache.trim(0).evicted, 2u);
    EXPECT_FALSE(fs::exists(left)) << "and who trims";
}
