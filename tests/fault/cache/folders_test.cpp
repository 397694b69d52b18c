// Folders of a cache that cannot be read: what looks at the whole cache says so, and exports nothing.
#include "cache/disk_store.h"
#include "convt_jit/cache.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace convt_jit;
namespace fs = std::filesystem;

namespace {

constexpr uid_t kStranger = 65534;

class Folders : public ::testing::Test {
protected:
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    const Cache cache{directory};
    std::string first, second;

    void SetUp() override {
        for (auto [key, source] : {std::pair(&first, "a"), std::pair(&second, "b")}) {
            const Entry entry = sample::entry(source);
            *key = digest(entry.key);
            ASSERT_TRUE(DiskStore(directory).put(*key, entry));
        }
        ASSERT_NE(first.substr(0, 2), second.substr(0, 2));
    }
    void TearDown() override { EXPECT_EQ(::seteuid(user_), 0); }
    [[nodiscard]] std::string folder() const { return directory + "/" + first.substr(0, 2); }

    // Permissions do not bind root.
    [[nodiscard]] bool become_somebody() {
        if (user_ != 0) return true;
        for (const auto& item : fs::recursive_directory_iterator(scratch.path()))
            if (::chown(item.path().c_str(), kStranger, kStranger) != 0) return false;
        return ::chown(scratch.path().c_str(), kStranger, kStranger) == 0 && ::seteuid(kStranger) == 0;
    }

    void expect_told(const std::string& why) {
        std::vector<CacheSkipped> skipped;
        EXPECT_EQ(cache.list(&skipped).size(), 1u);
        for (const auto& told :
             {skipped, cache.stat().skipped, cache.trim(1, true).skipped, cache.prune({"sm_90a"}, 0, true).skipped}) {
            ASSERT_EQ(told.size(), 1u);
            EXPECT_EQ(told[0].path, first.substr(0, 2));
            EXPECT_NE(told[0].why.find(why), std::string::npos) << told[0].why;
        }
        {
            const sample::Warnings warnings;
            EXPECT_EQ(cache.list().size(), 1u);
            ASSERT_EQ(warnings.lines().size(), 1u) << "who does not ask is warned";
            EXPECT_NE(warnings.lines()[0].find(folder()), std::string::npos) << warnings.lines()[0];
        }
        std::ofstream(scratch / "old.tar") << "old";
        const std::string told = error_of([&] { static_cast<void>(cache.export_to(scratch / "old.tar")); });
        EXPECT_NE(told.find(why), std::string::npos) << told;
        EXPECT_NE(told.find(folder()), std::string::npos) << told;
        std::ifstream file(scratch / "old.tar");
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "old");
        for (const auto& item : fs::directory_iterator(scratch.path())) EXPECT_NE(item.path().extension(), ".tmp");
        EXPECT_NE(error_of([&] { static_cast<void>(cache.show(first)); }).find(why), std::string::npos)
            << "that there is no such entry is more than anybody knows";
    }
    template <class Call>
    static std::string error_of(Call call) {
        try {
            call();
        } catch (const CacheError& error) {
            return error.what();
        }
        return "no error";
    }

private:
    const uid_t user_ = ::geteuid();
};

}  // namespace

TEST_F(Folders, WithoutPermissions) {
    if (!become_somebody()) GTEST_SKIP() << "the user cannot be changed here";
    ASSERT_EQ(::chmod(folder().c_str(), 0), 0);
    expect_told(std::strerror(EACCES));
    ASSERT_EQ(::chmod(folder().c_str(), 0400), 0);
    expect_told(std::strerror(EACCES));
    ASSERT_EQ(::chmod(folder().c_str(), 0700), 0);
}

TEST_F(Folders, AFileInTheirPlace) {
    fs::remove_all(folder());
    std::ofstream(folder()) << "x";
    expect_told(std::strerror(ENOTDIR));
    const auto report = cache.verify(true);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_TRUE(report.findings[0].mended) << "moved out of the way";
    const Entry entry = sample::entry("a");
    EXPECT_TRUE(DiskStore(directory).put(first, entry));
    EXPECT_TRUE(cache.verify().findings.empty());
}

TEST_F(Folders, ALinkOutOfTheCache) {
    fs::rename(folder(), scratch / "elsewhere");
    fs::create_directory_symlink(scratch / "elsewhere", folder());
    expect_told("it is a symbolic link");
    {
        DiskStore store(directory);
        const sample::Warnings warnings;
        EXPECT_EQ(store.find(first), nullptr);
        EXPECT_FALSE(store.put(first, sample::entry("a")));
        ASSERT_EQ(warnings.lines().size(), 1u) << "one cause";
        EXPECT_NE(warnings.lines()[0].find(folder() + " is not used: it is a symbolic link"), std::string::npos)
            << warnings.lines()[0];
    }
    {
        DiskStore store(directory);
        const sample::Warnings warnings;
        EXPECT_FALSE(store.put(first, sample::entry("a")));
        ASSERT_EQ(warnings.lines().size(), 1u);
        EXPECT_NE(warnings.lines()[0].find("not kept: " + folder() + ": it is a symbolic link"), std::string::npos)
            << warnings.lines()[0];
        EXPECT_NE(warnings.lines()[0].find("(remove it"), std::string::npos) << warnings.lines()[0];
    }
    EXPECT_TRUE(cache.verify(true).findings.at(0).mended);
    EXPECT_TRUE(DiskStore(directory).put(first, sample::entry("a")));
    EXPECT_FALSE(fs::is_empty(scratch / "elsewhere")) << "what it led to is not the cache's";
}

TEST_F(Folders, LinksInThePlaceOfTheCachesOwnFiles) {
    fs::create_directory(scratch / "elsewhere");
    for (const char* name : {"producers", "compilers", "holders", "lock", "clock", "usage"}) {
        fs::remove_all(directory + "/" + name);
        fs::create_symlink(scratch / "elsewhere", directory + "/" + name);
        const auto found = cache.verify();
        ASSERT_EQ(found.findings.size(), 1u) << name;
        EXPECT_EQ(found.findings[0].path, name);
        EXPECT_NE(found.findings[0].why.find("it is a symbolic link"), std::string::npos) << found.findings[0].why;
        EXPECT_TRUE(found.damaged());
        EXPECT_TRUE(cache.verify(true).findings.at(0).mended) << name;
        EXPECT_TRUE(cache.verify().findings.empty()) << name;
    }
    EXPECT_TRUE(fs::is_empty(scratch / "elsewhere"));
}

TEST_F(Folders, VerifyNamesEachThatIsNotTrusted) {
    fs::create_directory(directory + "/quarantine");
    for (const char* name : {"producers", "compilers", "holders", "quarantine", "lock", "clock", "usage"}) {
        const std::string path = directory + "/" + name;
        if (!fs::exists(path)) fs::create_directory(path);
        const auto before = fs::status(path).permissions();
        fs::permissions(path, fs::perms(0770));
        const auto report = cache.verify();
        ASSERT_EQ(report.findings.size(), 1u) << name;
        EXPECT_EQ(report.findings[0].path, name);
        EXPECT_EQ(report.untrusted(), 1u) << name;
        fs::permissions(path, before & fs::perms(0755));
        EXPECT_TRUE(cache.verify().findings.empty()) << name;
    }
}

TEST_F(Folders, VerifyNamesAProducerThatIsNotListed) {
    Entry entry = sample::entry("a");
    entry.key.producer = "nvrtc 12.9";
    ASSERT_TRUE(DiskStore(directory).put(digest(entry.key), entry));
    fs::remove(directory + "/producers/nvrtc 12.9");
    const auto report = cache.verify();
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_EQ(report.findings[0].kind, CacheFindingKind::unlisted);
    EXPECT_NE(report.findings[0].why.find("nvrtc 12.9"), std::string::npos);
    EXPECT_TRUE(report.damaged());
    EXPECT_TRUE(cache.verify(true).findings.empty()) << "it is there again";
    EXPECT_TRUE(cache.verify().findings.empty());
}

TEST_F(Folders, OthersMayWriteToIt) {
    fs::permissions(folder(), fs::perms(0777));
    expect_told("anybody can write to it");
}

TEST_F(Folders, RepairSaysWhyItCannot) {
    if (!become_somebody()) GTEST_SKIP() << "the user cannot be changed here";
    const std::string damaged = sample::entry_path(directory, first);
    std::ofstream(damaged, std::ios::trunc) << "rubbish";
    ASSERT_EQ(::chmod(folder().c_str(), 0500), 0);
    const auto report = cache.verify(true);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_FALSE(report.findings[0].mended);
    EXPECT_NE(report.findings[0].failure.find(std::strerror(EACCES)), std::string::npos) << report.findings[0].failure;
    EXPECT_TRUE(cache.verify().findings[0].failure.empty()) << "nobody asked for a repair";
    ASSERT_EQ(::chmod(folder().c_str(), 0), 0);
    EXPECT_NE(cache.verify(true).findings[0].failure, "");
    ASSERT_EQ(::chmod(folder().c_str(), 0700), 0);
    EXPECT_TRUE(cache.verify(true).findings[0].mended);
    // The quarantine itself may be what is wrong.
    std::ofstream(damaged, std::ios::trunc) << "rubbish";
    ASSERT_EQ(::chmod((directory + "/quarantine").c_str(), 0777), 0);
    EXPECT_NE(cache.verify(true).findings[0].failure.find("anybody can write to it"), std::string::npos);
    const sample::Warnings warnings;
    EXPECT_EQ(DiskStore(directory).find(first), nullptr);
    ASSERT_EQ(warnings.lines().size(), 1u);
    EXPECT_NE(warnings.lines()[0].find("could not be moved to quarantine"), std::string::npos) << warnings.lines()[0];
}

TEST_F(Folders, OrphansThatStay) {
    if (!become_somebody()) GTEST_SKIP() << "the user cannot be changed here";
    const std::string orphan = folder() + "/.elsewhere-1-0123456789abcdef.tmp";
    std::ofstream(orphan) << "x";
    fs::last_write_time(orphan, fs::last_write_time(orphan) - std::chrono::hours(2));
    ASSERT_EQ(::chmod(folder().c_str(), 0500), 0);
    EXPECT_EQ(cache.verify().orphans, 1u);
    const auto report = cache.verify(true);
    EXPECT_EQ(report.orphans, 0u);
    ASSERT_EQ(report.findings.size(), 1u);
    EXPECT_NE(report.findings[0].failure.find(std::strerror(EACCES)), std::string::npos);
    ASSERT_EQ(::chmod(folder().c_str(), 0700), 0);
    EXPECT_EQ(cache.verify(true).orphans, 1u);
}
