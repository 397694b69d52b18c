// Setting aside: what another process is faster at, and what stands in the way of the quarantine itself.
#include "cache/quarantine.h"

#include "cache/archive.h"
#include "cache/compilers.h"
#include "cache/disk_store.h"
#include "convt_jit/cache.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

using namespace convt_jit;
namespace fs = std::filesystem;

namespace {

class QuarantineFault : public ::testing::Test {
protected:
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    const Entry entry = sample::entry();
    const std::string key = digest(entry.key), path = sample::entry_path(directory, key);
    const Cache cache{directory};

    void SetUp() override { ASSERT_TRUE(DiskStore(directory).put(key, entry)); }
    void damage() const { std::ofstream(path, std::ios::trunc) << "rubbish"; }
    [[nodiscard]] std::size_t quarantined() const { return cache.stat().quarantined; }
};

}  // namespace

TEST_F(QuarantineFault, WhatIsGoneAlreadyOrMadeAnewIsNoTrouble) {
    std::error_code error;
    const auto root = Root::open(directory, false, error);
    const auto folder = root->folder(key.substr(0, 2), error);
    const std::string name = fs::path(path).filename();
    const auto seen = [&] {
        struct stat status {};
        EXPECT_EQ(::lstat(path.c_str(), &status), 0);
        return status;
    };
    const auto expect_neither = [&](const struct stat& status) {
        const Aside aside = set_aside(*root, folder, name, status);
        EXPECT_FALSE(aside.moved);
        EXPECT_FALSE(aside.error) << aside.error.message();
    };
    damage();
    const auto damaged = seen();
    fs::rename(path, scratch / "kept");  // so that its number is not given to another
    expect_neither(damaged);
    ASSERT_TRUE(DiskStore(directory).put(key, entry));
    expect_neither(damaged);
    EXPECT_NE(DiskStore(directory).find(key), nullptr) << "the sound one is where it was";
    fs::remove(path);
    fs::create_symlink("nowhere", path);
    const auto link = seen();
    fs::remove(path);
    ASSERT_TRUE(DiskStore(directory).put(key, entry));
    expect_neither(link);
    EXPECT_NE(DiskStore(directory).find(key), nullptr);
    EXPECT_EQ(quarantined(), 0u);
    damage();
    EXPECT_TRUE(set_aside(*root, folder, name, seen()).moved);
    EXPECT_EQ(quarantined(), 1u);
}

// Lookups set damaged entries aside while imports want to do so.
TEST_F(QuarantineFault, AnImportDoesNotMindOthersThatAreFaster) {
    std::vector<std::string> paths;
    for (int i = 0; i < 20; ++i) {
        const Entry more = sample::entry("source " + std::to_string(i));
        ASSERT_TRUE(DiskStore(directory).put(digest(more.key), more));
        paths.push_back(sample::entry_path(directory, digest(more.key)));
    }
    const std::string tar = scratch / "cache.tar";
    ASSERT_EQ(cache.export_to(tar).entries, 21u);
    std::atomic<bool> done{false};
    std::atomic<int> misled{0};
    const sample::Warnings warnings;
    std::thread reader([&] {
        while (!done)
            for (const auto& each : paths) static_cast<void>(DiskStore(directory).find(fs::path(each).stem()));
    });
    for (int i = 0; i < 40; ++i) {
        for (const auto& each : paths) std::ofstream(each, std::ios::trunc) << "rubbish";
        EXPECT_NO_THROW(cache.import_from(tar));
        EXPECT_TRUE(cache.verify().findings.empty()) << "all are sound in the end";
    }
    done = true;
    reader.join();
    for (const auto& line : warnings.lines()) EXPECT_EQ(line.find("could not be moved"), std::string::npos) << line;
}

TEST_F(QuarantineFault, WhatHasItsPlaceIsMovedIntoANewOne) {
    const std::string place = directory + "/quarantine";
    fs::create_directory(scratch / "elsewhere");
    const std::function<void()> obstacles[] = {
        [&] { std::ofstream(place) << "x"; },
        [&] { fs::create_symlink(scratch / "elsewhere", place); },
        [&] { fs::create_symlink("nowhere", place); },
        [&] { ASSERT_EQ(::mkfifo(place.c_str(), 0600), 0); },
    };
    for (const auto& put_in_place : obstacles) {
        fs::remove_all(place);
        put_in_place();
        damage();
        const auto found = cache.verify();
        ASSERT_EQ(found.findings.size(), 2u);
        EXPECT_EQ(found.findings[1].path, "quarantine");
        const auto repaired = cache.verify(true);
        ASSERT_EQ(repaired.findings.size(), 2u);
        for (const auto& finding : repaired.findings) {
            EXPECT_TRUE(finding.mended) << finding.path;
            EXPECT_EQ(finding.failure, "");
        }
        EXPECT_TRUE(cache.verify().findings.empty());
        EXPECT_EQ(quarantined(), 2u) << "the damaged entry is kept, and so is what was in its way";
        ASSERT_TRUE(DiskStore(directory).put(key, entry));
    }
    EXPECT_TRUE(fs::is_empty(scratch / "elsewhere")) << "what a link leads to is not the cache's";
}

TEST_F(QuarantineFault, ARecordOfACompilerThatIsNotSound) {
    remember_compiler(directory, "/opt/libnvrtc.so 123", "nvrtc 13.0.88");
    EXPECT_TRUE(cache.verify().findings.empty());
    const std::string record = fs::directory_iterator(directory + "/compilers")->path();
    std::ofstream(record) << "nvrtc 12.0\n";
    const auto found = cache.verify();
    ASSERT_EQ(found.findings.size(), 1u);
    EXPECT_EQ(found.findings[0].kind, CacheFindingKind::damaged);
    EXPECT_TRUE(found.findings[0].path.starts_with("compilers/"));
    EXPECT_TRUE(cache.verify(true).findings.at(0).mended);
    EXPECT_TRUE(cache.verify().findings.empty());
    EXPECT_EQ(recall_compiler(directory, "/opt/libnvrtc.so 123"), std::nullopt);
}

// A link, a folder, a pipe or a socket: there, and no entry.
TEST_F(QuarantineFault, WhatIsNoFileUnderTheNameOfAnEntry) {
    const Entry other = sample::entry("other");
    ASSERT_TRUE(DiskStore(directory).put(digest(other.key), other));
    const std::function<void()> kinds[] = {
        [&] { fs::create_symlink(scratch / "nowhere", path); },
        [&] { fs::create_symlink(sample::entry_path(directory, digest(other.key)), path); },
        [&] { fs::create_directory(path); },
        [&] { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); },
        [&] { ASSERT_EQ(::mknod(path.c_str(), S_IFSOCK | 0600, 0), 0); },
    };
    for (const auto& put_in_place : kinds) {
        fs::remove_all(path);
        put_in_place();
        const auto listed = cache.list();
        ASSERT_EQ(listed.size(), 2u);
        EXPECT_NE(listed[0].readable, listed[1].readable);
        EXPECT_EQ(cache.stat().entries, 2u);
        EXPECT_FALSE(cache.show(key).readable);
        const auto out = cache.export_to(scratch / "cache.tar");
        EXPECT_EQ(out.entries, 1u);
        ASSERT_EQ(out.left_out.size(), 1u);
        EXPECT_NE(out.left_out[0].path.find(key), std::string::npos);
        EXPECT_TRUE(out.left_out[0].why == "it is a link" || out.left_out[0].why == "it is no file")
            << out.left_out[0].why;
        EXPECT_EQ(cache.trim(0, true).verdicts.size(), 1u) << "nothing that could be evicted";
        const auto found = cache.verify(true);
        ASSERT_EQ(found.findings.size(), 1u);
        EXPECT_EQ(found.findings[0].kind, CacheFindingKind::damaged);
        EXPECT_TRUE(found.findings[0].mended);
        EXPECT_TRUE(cache.verify().findings.empty());
    }
}
