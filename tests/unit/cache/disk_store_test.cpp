#include "cache/disk_store.h"

#include "unit/cache/sample.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

using namespace convt_jit;
namespace fs = std::filesystem;

namespace {

mode_t mode_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

}  // namespace

TEST(DiskStore, FindsWhatAnotherStorePut) {
    const sample::Scratch scratch;
    const Entry entry = sample::entry();
    const std::string key = digest(entry.key);
    EXPECT_EQ(DiskStore(scratch / "c").find(key), nullptr);
    EXPECT_FALSE(fs::exists(scratch / "c")) << "a lookup makes nothing";
    EXPECT_TRUE(DiskStore(scratch / "c").put(key, entry));
    const auto found = DiskStore(scratch / "c").find(key);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(*found, entry);
    EXPECT_TRUE(fs::is_regular_file(sample::entry_path(scratch / "c", key)));
    EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(scratch / "c") / key.substr(0, 2)), {}), 1);
}

TEST(DiskStore, IsPrivateAndMakesMissingParents) {
    const sample::Scratch scratch;
    const Entry entry = sample::entry();
    const std::string key = digest(entry.key);
    ASSERT_TRUE(DiskStore(scratch / "a/b/c").put(key, entry));
    for (const char* path : {"a", "a/b", "a/b/c"}) EXPECT_EQ(mode_of(scratch / path), 0700u);
    EXPECT_EQ(mode_of(sample::entry_path(scratch / "a/b/c", key)), 0600u);
}

TEST(DiskStore, ASharedDirectoryStaysShared) {
    const sample::Scratch scratch;
    fs::create_directory(scratch / "c");
    fs::permissions(scratch / "c", fs::perms(0750));
    const Entry entry = sample::entry();
    ASSERT_TRUE(DiskStore(scratch / "c").put(digest(entry.key), entry));
    EXPECT_EQ(mode_of(sample::entry_path(scratch / "c", digest(entry.key))), 0640u);
}

TEST(DiskStore, IsRelocatable) {
    const sample::Scratch scratch;
    const Entry entry = sample::entry();
    ASSERT_TRUE(DiskStore(scratch / "c").put(digest(entry.key), entry));
    fs::rename(scratch / "c", scratch / "d");
    EXPECT_NE(DiskStore(scratch / "d").find(digest(entry.key)), nullptr);
}

TEST(DiskStore, KeepsNothingUnderAWrongKey) {
    const sample::Scratch scratch;
    DiskStore store(scratch / "c");
    EXPECT_FALSE(store.put(digest(std::string_view("other")), sample::entry()));
    EXPECT_FALSE(store.put("../../x", sample::entry()));
    EXPECT_EQ(store.find("../../x"), nullptr);
    EXPECT_FALSE(fs::exists(scratch / "c"));
}

TEST(DiskStore, AnEntryUnderAnotherNameIsAMiss) {
    const sample::Scratch scratch;
    const Entry entry = sample::entry();
    const std::string key = digest(entry.key), other = digest(std::string_view("other"));
    DiskStore store(scratch / "c");
    ASSERT_TRUE(store.put(key, entry));
    fs::create_directories(fs::path(sample::entry_path(scratch / "c", other)).parent_path());
    fs::copy_file(sample::entry_path(scratch / "c", key), sample::entry_path(scratch / "c", other));
    const sample::Warnings warnings;
    EXPECT_EQ(store.find(other), nullptr);
    ASSERT_EQ(warnings.lines().size(), 1u);
    EXPECT_NE(warnings.lines()[0].find("belongs to another key"), std::string::npos);
}

TEST(DiskStore, DescribesItself) { EXPECT_EQ(DiskStore("/a/b").describe(), "disk /a/b"); }
