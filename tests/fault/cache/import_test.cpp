// Imports that cannot be carried through: they keep nothing, and take nothing away.
#include "cache/archive.h"
#include "cache/disk_store.h"
#include "cache/intake.h"
#include "fault/cache/mount.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <set>

using namespace convt_jit;
using sample::in_child, sample::kNotPossible, sample::kRight, sample::kWrong, sample::Mount;
namespace fs = std::filesystem;

namespace {

class Import : public ::testing::Test {
protected:
    static constexpr int kEntries = 20;

    const sample::Scratch scratch;
    const std::string tar = scratch / "cache.tar";
    std::vector<std::string> keys;  // in the order in which they are imported

    void SetUp() override {
        for (int i = 0; i < kEntries; ++i) {
            const Entry entry = sample::entry("source " + std::to_string(i), 100000);
            keys.push_back(digest(entry.key));
            ASSERT_TRUE(DiskStore(scratch / "from").put(keys.back(), entry));
        }
        std::sort(keys.begin(), keys.end());
        ASSERT_EQ(Cache(scratch / "from").export_to(tar).entries, std::size_t{kEntries});
    }
    // What an import says that fails.
    [[nodiscard]] std::string refusal(const std::string& directory) const {
        try {
            Cache(directory).import_from(tar);
        } catch (const CacheError& error) {
            return error.what();
        }
        return "accepted";
    }
    // Everything with a name of the cache but its own small files.
    [[nodiscard]] static std::set<std::string> content(const std::string& directory) {
        std::set<std::string> names;
        for (const auto& item : fs::recursive_directory_iterator(directory)) {
            const auto name = fs::relative(item.path(), directory).string();
            if (name.substr(0, 2).find_first_not_of("0123456789abcdef") == std::string::npos) names.insert(name);
            EXPECT_NE(item.path().extension(), ".tmp") << name;
        }
        return names;
    }
    [[nodiscard]] static std::string folder_of(const std::string& key) { return key.substr(0, 2); }
};

}  // namespace

TEST_F(Import, AFileInPlaceOfAFolderIsSeenBeforeAnythingIsWritten) {
    fs::create_directory(scratch / "to");
    std::ofstream(scratch / ("to/" + folder_of(keys.back()))) << "x";
    const std::string why = refusal(scratch / "to");
    EXPECT_NE(why.find("to/" + folder_of(keys.back())), std::string::npos) << why;
    EXPECT_NE(why.find(std::strerror(ENOTDIR)), std::string::npos) << why;
    EXPECT_EQ(content(scratch / "to"), std::set<std::string>{folder_of(keys.back())});
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch / "to"), {}), 1) << "nothing else, either";
}

TEST_F(Import, AFolderThatOthersMayWriteToIsSeenBeforeAnythingIsWritten) {
    fs::create_directories(scratch / ("to/" + folder_of(keys.back())));
    fs::permissions(scratch / "to", fs::perms(0700));
    fs::permissions(scratch / ("to/" + folder_of(keys.back())), fs::perms(0777));
    EXPECT_NE(refusal(scratch / "to").find("anybody can write to it"), std::string::npos);
    EXPECT_EQ(content(scratch / "to").size(), 1u);
}

TEST_F(Import, AReadOnlyFileSystem) {
    const Mount volume(scratch / "volume", "tmpfs", "size=1m,mode=0700");
    if (!volume) GTEST_SKIP() << "mounting a tmpfs: " << std::strerror(errno);
    ASSERT_TRUE(volume.make_read_only());
    EXPECT_NE(refusal(volume.path()).find(std::strerror(EROFS)), std::string::npos);
}

TEST_F(Import, ADiskThatFillsUpKeepsWhatWasThereAndNothingElse) {
    const Mount small(scratch / "small", "tmpfs", "size=1m,mode=0700");
    if (!small) GTEST_SKIP() << "mounting a tmpfs: " << std::strerror(errno);
    const std::string directory = small.path() + "/c";
    const Entry own = sample::entry("own", 1000);
    ASSERT_TRUE(DiskStore(directory).put(digest(own.key), own));
    // One of those that come is there already.
    fs::create_directories(directory + "/" + folder_of(keys[1]));
    fs::copy_file(sample::entry_path(scratch / "from", keys[1]), sample::entry_path(directory, keys[1]));
    const auto before = content(directory);
    const std::string why = refusal(directory);
    EXPECT_NE(why.find(std::strerror(ENOSPC)), std::string::npos) << why;
    EXPECT_EQ(content(directory), before);
    EXPECT_NE(DiskStore(directory).find(digest(own.key)), nullptr);
    EXPECT_NE(DiskStore(directory).find(keys[1]), nullptr);
    ASSERT_EQ(::mount("none", small.path().c_str(), nullptr, MS_REMOUNT, "size=8m"), 0);
    EXPECT_EQ(Cache(directory).import_from(tar).entries, std::size_t{kEntries - 1}) << "once there is room";
}

TEST_F(Import, AFileSizeLimit) {
    const int result = in_child([&] {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return kNotPossible;
        const std::string why = refusal(scratch / "to");
        return why.find(std::strerror(EFBIG)) != std::string::npos && content(scratch / "to").empty() ? kRight : kWrong;
    });
    if (result == kNotPossible) GTEST_SKIP() << "no file size limit can be set here";
    EXPECT_EQ(result, kRight);
}

TEST_F(Import, OneAtATime) {
    std::error_code error;
    const auto root = Root::make(scratch / "to", false, error);
    ASSERT_TRUE(root);
    const auto archive = check_archive(tar);
    {
        const Intake other(*root, std::chrono::seconds(0));
        EXPECT_THROW(import_archive(*root, archive, std::chrono::milliseconds(50)), CacheError);
        EXPECT_TRUE(content(scratch / "to").empty());
    }
    EXPECT_EQ(import_archive(*root, archive, std::chrono::milliseconds(0)).entries, std::size_t{kEntries});
}

TEST_F(Import, WhatIsInTheWayOfAnEntryGoesToQuarantine) {
    ASSERT_EQ(Cache(scratch / "to").import_from(tar).entries, std::size_t{kEntries});
    const std::string damaged = sample::entry_path(scratch / "to", keys[0]),
                      folder = sample::entry_path(scratch / "to", keys[1]);
    std::ofstream(damaged, std::ios::trunc) << "rubbish";
    fs::remove(folder);
    fs::create_directories(folder + "/x");
    EXPECT_EQ(Cache(scratch / "to").import_from(tar).entries, 2u);
    EXPECT_TRUE(Cache(scratch / "to").verify().findings.empty());
    EXPECT_EQ(Cache(scratch / "to").stat().quarantined, 2u);
}
