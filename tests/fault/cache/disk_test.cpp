// Disks that refuse: whatever happens, put says false with one warning, leaves nothing behind, and find still answers.
#include "cache/directory.h"
#include "cache/disk_store.h"
#include "fault/cache/mount.h"
#include "unit/cache/sample.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>

using namespace convt_jit;
namespace fs = std::filesystem;

namespace {

using sample::in_child, sample::kNotPossible, sample::kRight, sample::kWrong, sample::Mount;

std::size_t temporaries(const std::string& directory) {
    std::size_t count = 0;
    std::error_code ignored;
    for (const auto& item : fs::recursive_directory_iterator(directory, ignored))
        count += item.path().extension() == ".tmp" ? 1 : 0;
    return count;
}

void expect_refused(const std::string& directory, const std::string& cause) {
    const sample::Warnings warnings;
    DiskStore store(directory);
    for (const char* source : {"a", "b", "c"}) {
        const Entry entry = sample::entry(source);
        EXPECT_FALSE(store.put(digest(entry.key), entry));
        EXPECT_EQ(store.find(digest(entry.key)), nullptr);
    }
    ASSERT_EQ(warnings.lines().size(), 1u);
    for (const std::string& told : {cause, directory, std::string("CONVT_JIT_CACHE_DIR")})
        EXPECT_NE(warnings.lines()[0].find(told), std::string::npos) << warnings.lines()[0];
    EXPECT_EQ(temporaries(directory), 0u);
}

}  // namespace

TEST(Disk, AFileInPlaceOfTheDirectory) {
    const sample::Scratch scratch;
    std::ofstream(scratch / "c") << "x";
    expect_refused(scratch / "c", std::strerror(ENOTDIR));
    expect_refused(scratch / "c/d", std::strerror(ENOTDIR));
}

TEST(Disk, AFileInPlaceOfTheFanOut) {
    const sample::Scratch scratch;
    const Entry entry = sample::entry();
    fs::create_directory(scratch / "c");
    std::ofstream(scratch / ("c/" + digest(entry.key).substr(0, 2))) << "x";
    const sample::Warnings warnings;
    DiskStore store(scratch / "c");
    EXPECT_FALSE(store.put(digest(entry.key), entry));
    EXPECT_EQ(store.find(digest(entry.key)), nullptr);
    EXPECT_GE(warnings.lines().size(), 1u);
}

TEST(Disk, AFanOutThatIsALinkIsNotEntered) {
    const sample::Scratch scratch;
    const Entry entry = sample::entry();
    const std::string key = digest(entry.key);
    ASSERT_TRUE(DiskStore(scratch / "elsewhere").put(key, entry));
    fs::create_directory(scratch / "c");
    fs::create_directory_symlink(scratch / ("elsewhere/" + key.substr(0, 2)), scratch / ("c/" + key.substr(0, 2)));
    DiskStore store(scratch / "c");
    EXPECT_EQ(store.find(key), nullptr);
    EXPECT_FALSE(store.put(key, entry));
}

TEST(Disk, NamesOf255BytesAndTooLongOnes) {
    const sample::Scratch scratch;
    const Entry entry = sample::entry();
    DiskStore store(scratch / std::string(255, 'n'));
    EXPECT_TRUE(store.put(digest(entry.key), entry));
    EXPECT_NE(store.find(digest(entry.key)), nullptr);
    expect_refused(scratch / std::string(256, 'n'), std::strerror(ENAMETOOLONG));
    expect_refused(scratch / std::string(5000, '/') + "n", std::strerror(ENAMETOOLONG));
}

TEST(Disk, NamesWithBlanksAndOtherLetters) {
    const sample::Scratch scratch;
    const Entry entry = sample::entry();
    DiskStore store(scratch / "a b/\u00e4\u8a9e/\xff\n'\"$");
    EXPECT_TRUE(store.put(digest(entry.key), entry));
    EXPECT_NE(store.find(digest(entry.key)), nullptr);
}

TEST(Disk, NoFreeInodesAndLaterRoomAgain) {
    const sample::Scratch scratch;
    const Mount small(scratch / "small", "tmpfs", "size=1m,nr_inodes=2,mode=0700");
    if (!small) GTEST_SKIP() << "mounting a tmpfs: " << std::strerror(errno);
    expect_refused(small.path() + "/c", std::strerror(ENOSPC));
    ASSERT_EQ(::mount("none", small.path().c_str(), nullptr, MS_REMOUNT, "size=1m,nr_inodes=100"), 0);
    const Entry entry = sample::entry();
    DiskStore store(small.path() + "/c");
    EXPECT_TRUE(store.put(digest(entry.key), entry));
    EXPECT_NE(store.find(digest(entry.key)), nullptr);
}

TEST(Disk, AFileSizeLimit) {
    const sample::Scratch scratch;
    const int result = in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const Entry small = sample::entry("small", 10), large = sample::entry("large", 100000);
        DiskStore store(scratch / "c");
        if (!store.put(digest(small.key), small)) return kWrong;
        const rlimit limit{4096, 4096};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return kNotPossible;
        const sample::Warnings warnings;
        if (store.put(digest(large.key), large) || store.put(digest(large.key), large)) return kWrong;
        if (warnings.lines().size() != 1 || store.find(digest(large.key)) != nullptr) return kWrong;
        return store.find(digest(small.key)) != nullptr && temporaries(scratch / "c") == 0 ? kRight : kWrong;
    });
    if (result == kNotPossible) GTEST_SKIP() << "no file size limit can be set here";
    EXPECT_EQ(result, kRight);
}

TEST(Disk, AFullFileSystem) {
    const sample::Scratch scratch;
    const Mount small(scratch / "small", "tmpfs", "size=1m,mode=0700");
    if (!small) GTEST_SKIP() << "mounting a tmpfs: " << std::strerror(errno);
    DiskStore store(small.path() + "/c");
    const sample::Warnings warnings;
    std::vector<std::string> kept;
    int refused = 0;
    for (int i = 0; i < 20; ++i) {
        const Entry entry = sample::entry("source " + std::to_string(i), 100000);
        if (store.put(digest(entry.key), entry))
            kept.push_back(digest(entry.key));
        else
            ++refused;
    }
    EXPECT_GE(kept.size(), 5u);
    EXPECT_GE(refused, 5);
    ASSERT_EQ(warnings.lines().size(), 1u);
    EXPECT_NE(warnings.lines()[0].find(std::strerror(ENOSPC)), std::string::npos) << warnings.lines()[0];
    for (const auto& key : kept) EXPECT_NE(store.find(key), nullptr);
    EXPECT_EQ(temporaries(small.path()), 0u);
    ASSERT_EQ(::mount("none", small.path().c_str(), nullptr, MS_REMOUNT, "size=4m"), 0);
    const Entry entry = sample::entry("with room", 100000);
    EXPECT_TRUE(store.put(digest(entry.key), entry)) << "the same store, once there is room";
}

TEST(Disk, AReadOnlyFileSystem) {
    const sample::Scratch scratch;
    const Mount volume(scratch / "volume", "tmpfs", "size=1m,mode=0700");
    if (!volume) GTEST_SKIP() << "mounting a tmpfs: " << std::strerror(errno);
    const Entry there = sample::entry("there"), absent = sample::entry("absent");
    ASSERT_TRUE(DiskStore(volume.path() + "/c").put(digest(there.key), there));
    ASSERT_TRUE(volume.make_read_only());
    EXPECT_NE(DiskStore(volume.path() + "/c").find(digest(there.key)), nullptr) << "hits need no writing";
    expect_refused(volume.path() + "/c", std::strerror(EROFS));
    expect_refused(volume.path() + "/new", std::strerror(EROFS));
}

TEST(Disk, AReadOnlyBindMount) {
    const sample::Scratch scratch;
    const Entry there = sample::entry("there");
    const std::string key = digest(there.key);
    ASSERT_TRUE(DiskStore(scratch / "c").put(key, there));
    const Mount view(scratch / "view", scratch / "c");
    if (!view || !view.make_read_only(MS_BIND)) GTEST_SKIP() << "binding a directory: " << std::strerror(errno);
    const sample::Warnings warnings;
    DiskStore layer({.directory = view.path(), .access = Access::read_only});
    EXPECT_NE(layer.find(key), nullptr);
    EXPECT_TRUE(warnings.lines().empty()) << "a read-only layer is nothing to warn about";
    EXPECT_FALSE(layer.put(key, there));
    EXPECT_NE(DiskStore(view.path()).find(key), nullptr);
    expect_refused(view.path(), std::strerror(EROFS));
}

TEST(Disk, ADirectoryWithoutPermissions) {
    const sample::Scratch scratch;
    fs::create_directory(scratch / "c");
    fs::permissions(scratch / "c", fs::perms::none);
    fs::permissions(scratch.path(), fs::perms(0755));
    const int result = in_child([&] {
        // Permissions do not bind root.
        if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0))
            return kNotPossible;
        const Entry entry = sample::entry();
        const sample::Warnings warnings;
        for (const char* path : {"c", "new"}) {
            DiskStore store(scratch / path);
            if (::geteuid() != 65534 && std::string(path) == "new") continue;  // our own scratch directory takes it
            if (store.put(digest(entry.key), entry) || store.find(digest(entry.key)) != nullptr) return kWrong;
        }
        if (warnings.lines().empty()) return kWrong;
        for (const auto& line : warnings.lines())
            if (line.find(std::strerror(EACCES)) == std::string::npos) return kWrong;
        return kRight;
    });
    fs::permissions(scratch / "c", fs::perms(0700));
    if (result == kNotPossible) GTEST_SKIP() << "the user cannot be changed here";
    EXPECT_EQ(result, kRight);
}

TEST(Disk, NoHomeAndNoPasswdEntry) {
    const int result = in_child([] {
        constexpr uid_t nobody_knows = 3141592;
        if (::geteuid() != 0 || ::getpwuid(nobody_knows) != nullptr || ::setuid(nobody_knows) != 0) return kNotPossible;
        for (const char* name : {"CONVT_JIT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) ::unsetenv(name);
        if (default_cache_directory()) return kWrong;
        ::setenv("HOME", "/tmp/a", 1);
        return default_cache_directory() == "/tmp/a/.cache/convt_jit" ? kRight : kWrong;
    });
    if (result == kNotPossible) GTEST_SKIP() << "needs root and a user id without passwd entry";
    EXPECT_EQ(result, kRight);
}
