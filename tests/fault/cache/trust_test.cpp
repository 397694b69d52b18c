// Entries that somebody else owns or could have written, and links that lead out of the cache.
#include "cache/disk_store.h"
#include "cache/settings.h"
#include "cache/verify.h"
#include "convt_jit/cache.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

using namespace convt_jit;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kStranger = 65534;

class Distrusted : public ::testing::Test {
protected:
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    const Entry entry = sample::entry();
    const std::string key = digest(entry.key);
    const std::string path = sample::entry_path(directory, key);
    const std::string folder = fs::path(path).parent_path().string();

    void SetUp() override { ASSERT_TRUE(DiskStore(directory).put(key, entry)); }

    // One warning that says what is wrong; the entry is not loaded, not changed, and loaded once declared trusted.
    void expect_refused(const std::string& what) {
        DiskStore store(directory);
        const sample::Warnings warnings;
        EXPECT_EQ(store.find(key), nullptr);
        EXPECT_EQ(store.find(key), nullptr);
        ASSERT_EQ(warnings.lines().size(), 1u);
        EXPECT_NE(warnings.lines()[0].find(what), std::string::npos) << warnings.lines()[0];
        EXPECT_NE(warnings.lines()[0].find("CONVT_JIT_CACHE_TRUSTED"), std::string::npos);
        EXPECT_TRUE(fs::exists(path));
        EXPECT_NE(DiskStore(DiskOptions{.directory = directory, .trusted = true}).find(key), nullptr);
        const sample::Variable declared("CONVT_JIT_CACHE_TRUSTED", scratch.path().string());
        const sample::Variable own("CONVT_JIT_CACHE_DIR", directory);
        EXPECT_NE(open_disk_stores(cache_settings())->find(key), nullptr);
    }
    static bool give_away(const std::string& what) { return ::chown(what.c_str(), kStranger, kStranger) == 0; }
};

}  // namespace

TEST_F(Distrusted, AWritableDirectory) {
    fs::permissions(directory, fs::perms(0770));
    expect_refused("its group can write to it");
    fs::permissions(directory, fs::perms(0703));
    expect_refused("anybody can write to it");
    EXPECT_FALSE(DiskStore(directory).put(key, entry)) << "what would not be loaded is not kept";
    fs::permissions(directory, fs::perms(0755));
    EXPECT_NE(DiskStore(directory).find(key), nullptr);
}

TEST_F(Distrusted, AWritableFolder) {
    fs::permissions(folder, fs::perms(0777));
    expect_refused("anybody can write to it");
}

TEST_F(Distrusted, AWritableEntry) {
    fs::permissions(path, fs::perms(0660));
    expect_refused("its group can write to it");
    std::error_code error;
    const auto report = verify(*Root::open(directory, false, error), true);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].kind, CacheFindingKind::untrusted);
    EXPECT_TRUE(fs::exists(path));
    EXPECT_TRUE(DiskStore(directory).put(key, entry)) << "in a directory of our own it is replaced";
    EXPECT_NE(DiskStore(directory).find(key), nullptr);
}

TEST_F(Distrusted, WhatAnotherUserOwns) {
    if (!give_away(path)) GTEST_SKIP() << "files cannot be given away here";
    expect_refused("it belongs to another user");
    ASSERT_TRUE(give_away(folder));
    expect_refused("it belongs to another user");
    ASSERT_TRUE(give_away(directory));
    expect_refused("it belongs to another user");
}

TEST_F(Distrusted, WhatRootOwnsServesEverybody) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    fs::permissions(scratch.path(), fs::perms(0755));
    for (const auto& item : {directory, folder}) fs::permissions(item, fs::perms(0755));
    fs::permissions(path, fs::perms(0644));
    ASSERT_EQ(::seteuid(kStranger), 0);
    const bool found = DiskStore(DiskOptions{.directory = directory, .access = Access::read_only}).find(key) != nullptr;
    const bool found_writable = DiskStore(directory).find(key) != nullptr;
    ASSERT_EQ(::seteuid(0), 0);
    EXPECT_TRUE(found);
    EXPECT_TRUE(found_writable);
}

TEST_F(Distrusted, WhatRootMakesBelongsToTheOwner) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const Entry other = sample::entry("other");
    std::vector<std::string> all{directory};
    for (const auto& item : fs::recursive_directory_iterator(directory)) all.push_back(item.path());
    for (const auto& item : all) ASSERT_TRUE(give_away(item));
    for (const char* name : {"lock", "clock", "usage"}) fs::remove(directory + "/" + name);
    fs::remove_all(directory + "/holders");
    {
        DiskStore store(DiskOptions{.directory = directory, .trusted = true});
        ASSERT_TRUE(store.put(digest(other.key), other));
        static_cast<void>(Cache(directory).trim(0));
        for (const auto& item : fs::recursive_directory_iterator(directory)) {
            struct stat status {};
            ASSERT_EQ(::lstat(item.path().c_str(), &status), 0);
            EXPECT_EQ(status.st_uid, kStranger) << item.path();
        }
    }
}

TEST_F(Distrusted, ALockThatCannotBeUsedIsMadeAnew) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const std::string lock = directory + "/lock";
    fs::permissions(scratch.path(), fs::perms(0755));
    for (const auto& item : {directory, folder, path}) ASSERT_TRUE(give_away(item));
    fs::remove(lock);
    std::ofstream(lock) << "";  // root's, and 0644
    const std::string third = digest(sample::entry("third").key);
    ASSERT_EQ(::seteuid(kStranger), 0);
    const auto right = DiskStore(directory).claim(third).right;
    ASSERT_EQ(::seteuid(0), 0);
    EXPECT_NE(right, nullptr);
    // Where it cannot, that is told, once.
    fs::remove(lock);
    fs::create_directory(lock);
    DiskStore store(DiskOptions{.directory = directory, .trusted = true});
    const sample::Warnings warnings;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(store.claim(third).right, nullptr);
    ASSERT_EQ(warnings.lines().size(), 1u);
    EXPECT_NE(warnings.lines()[0].find(lock + " cannot be used"), std::string::npos) << warnings.lines()[0];
}

TEST_F(Distrusted, LinksInsideAreNotFollowed) {
    fs::rename(directory, scratch / "elsewhere");
    fs::create_directory(directory);
    fs::permissions(directory, fs::perms(0700));
    fs::create_directory_symlink(fs::path(scratch / "elsewhere") / key.substr(0, 2), folder);
    for (const char* name : {"producers", "holders", "quarantine"})
        fs::create_directory_symlink(fs::path(scratch / "elsewhere"), directory + "/" + name);
    for (const char* name : {"lock", "clock", "usage"})
        fs::create_symlink(fs::path(scratch / "victim"), directory + "/" + name);
    DiskStore store(DiskOptions{.directory = directory, .trusted = true});
    EXPECT_EQ(store.find(key), nullptr);
    EXPECT_FALSE(store.put(key, entry));
    const Entry other = sample::entry("other");
    ASSERT_NE(digest(other.key).substr(0, 2), key.substr(0, 2));
    EXPECT_TRUE(store.put(digest(other.key), other)) << "the rest works without";
    EXPECT_EQ(store.claim(digest(sample::entry("third").key)).found, nullptr) << "and nobody waits";
    EXPECT_FALSE(fs::exists(scratch / "victim")) << "nothing is written through a link";
    EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(scratch / "elsewhere") / "producers"), {}), 1);
}

TEST_F(Distrusted, TheDirectoryItselfMayBeALink) {
    fs::create_directory_symlink(directory, scratch / "link");
    EXPECT_NE(DiskStore(scratch / "link").find(key), nullptr);
}
