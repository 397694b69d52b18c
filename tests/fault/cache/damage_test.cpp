// Entries on disk, damaged byte by byte: each is a miss with one warning, is set aside, and a fresh put mends it.
#include "cache/disk_store.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

using namespace convt_jit;
namespace fs = std::filesystem;

namespace {

void overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class Damage : public ::testing::Test {
protected:
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    const Entry entry = sample::entry("x", 64);
    const std::string key = digest(entry.key);
    const std::string path = sample::entry_path(directory, key);
    const std::string good = encode(entry);

    void SetUp() override { ASSERT_TRUE(DiskStore(directory).put(key, entry)); }

    void expect_miss_then_healed(const std::string& what) {
        DiskStore store(directory);
        {
            const sample::Warnings warnings;
            EXPECT_EQ(store.find(key), nullptr) << what;
            EXPECT_EQ(store.find(key), nullptr) << what;
            EXPECT_EQ(warnings.lines().size(), 1u) << what;
        }
        EXPECT_FALSE(fs::exists(fs::symlink_status(path))) << what;
        EXPECT_FALSE(fs::is_empty(directory + "/quarantine")) << what;
        EXPECT_TRUE(store.put(key, entry)) << what;
        EXPECT_NE(store.find(key), nullptr) << what;
    }
};

}  // namespace

TEST_F(Damage, EveryByteFlipped) {
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string bad = good;
        bad[i] = static_cast<char>(~bad[i]);
        overwrite(path, bad);
        expect_miss_then_healed("byte " + std::to_string(i));
    }
}

TEST_F(Damage, CutAtEveryLength) {
    for (std::size_t length = 0; length < good.size(); ++length) {
        overwrite(path, good.substr(0, length));
        expect_miss_then_healed("length " + std::to_string(length));
    }
}

TEST_F(Damage, TheQuarantineStaysSmallAndKeepsTheEvidence) {
    for (int i = 0; i < 40; ++i) {
        overwrite(path, "damaged " + std::to_string(i));
        DiskStore store(directory);
        EXPECT_EQ(store.find(key), nullptr);
        ASSERT_TRUE(store.put(key, entry));
    }
    bool last = false;
    std::size_t count = 0;
    for (const auto& item : fs::directory_iterator(directory + "/quarantine")) {
        std::ifstream file(item.path());
        std::string text((std::istreambuf_iterator<char>(file)), {});
        last = last || text == "damaged 39";
        ++count;
    }
    EXPECT_EQ(count, 16u);
    EXPECT_TRUE(last);
}

TEST_F(Damage, AReadOnlyLayerIsLeftAsItIs) {
    overwrite(path, "damaged");
    DiskStore store({.directory = directory, .access = Access::read_only});
    const sample::Warnings warnings;
    EXPECT_EQ(store.find(key), nullptr);
    EXPECT_EQ(warnings.lines().size(), 1u);
    EXPECT_TRUE(fs::exists(path));
    EXPECT_FALSE(fs::exists(directory + "/quarantine"));
}

TEST_F(Damage, EachOneIsWarnedAbout) {
    const Entry other = sample::entry("y", 64);
    ASSERT_TRUE(DiskStore(directory).put(digest(other.key), other));
    for (const Access access : {Access::read_only, Access::read_write}) {
        for (const std::string& damaged : {key, digest(other.key)})
            overwrite(sample::entry_path(directory, damaged), "damaged");
        DiskStore store({.directory = directory, .access = access});
        const sample::Warnings warnings;
        for (int i = 0; i < 2; ++i)
            for (const std::string& damaged : {key, digest(other.key)}) EXPECT_EQ(store.find(damaged), nullptr);
        EXPECT_EQ(warnings.lines().size(), 2u);
    }
}

TEST_F(Damage, ZeroedExtendedAndForeign) {
    for (const std::string& bytes : {std::string(good.size(), '\0'), good + "x",
                                     std::string("\x7f"
                                                 "ELF"),
                                     good + good}) {
        overwrite(path, bytes);
        expect_miss_then_healed("foreign");
    }
}

TEST_F(Damage, ASparseGiantIsNotRead) {
    ASSERT_EQ(::truncate(path.c_str(), off_t{1} << 40), 0);
    expect_miss_then_healed("1 TiB");
}

TEST_F(Damage, APipeDoesNotBlock) {
    fs::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    expect_miss_then_healed("pipe");
}

TEST_F(Damage, LinksAreNotFollowed) {
    const std::string outside = scratch / "outside";
    fs::rename(path, outside);
    fs::create_symlink(outside, path);
    expect_miss_then_healed("link");
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path))) << "the link is replaced, not written through";
}

TEST_F(Damage, AFolderInPlaceOfTheEntry) {
    fs::remove(path);
    fs::create_directories(path + "/x");
    expect_miss_then_healed("folder");
    fs::remove(path);
    fs::create_directories(path + "/x");
    EXPECT_TRUE(DiskStore(directory).put(key, entry)) << "a put alone mends it too";
}
