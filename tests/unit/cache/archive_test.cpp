#include "cache/archive.h"

#include "cache/disk_store.h"
#include "cache/temporary.h"
#include "cache/ustar.h"
#include "unit/cache/sample.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace convt_jit;
namespace fs = std::filesystem;

namespace {

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class Archive : public ::testing::Test {
protected:
    const sample::Scratch scratch;
    const std::string tar = scratch / "cache.tar";
    std::vector<std::string> keys;

    void SetUp() override {
        for (const char* source : {"a", "b", "c"}) {
            Entry entry = sample::entry(source, 700);
            entry.key.arch = std::string(source) == "c" ? "sm_80" : "sm_90a";
            keys.push_back(digest(entry.key));
            ASSERT_TRUE(DiskStore(scratch / "from").put(keys.back(), entry));
        }
    }
    [[nodiscard]] Root root(const std::string& name) const {
        std::error_code error;
        return std::move(Root::make(scratch / name, false, error).value());
    }
    // The reason for which an archive is refused; nothing may be kept then.
    [[nodiscard]] std::string refusal(const std::string& archive) const {
        write(scratch / "bad.tar", archive);
        const Root to = root("to");
        try {
            import_archive(to, check_archive(scratch / "bad.tar"));
        } catch (const CacheError& error) {
            for (const auto& key : keys) EXPECT_FALSE(fs::exists(sample::entry_path(scratch / "to", key)));
            return error.what();
        }
        return "accepted";
    }
    [[nodiscard]] std::string file_of(std::size_t i) const {
        return bytes_of(sample::entry_path(scratch / "from", keys[i]));
    }
    static std::string name_of(const std::string& key) { return key.substr(0, 2) + "/" + key + ".cubin"; }
};

}  // namespace

TEST_F(Archive, CarriesEverythingAndIsTheSameEachTime) {
    const auto out = export_archive(root("from"), tar, {});
    EXPECT_EQ(out.entries, 3u);
    EXPECT_EQ(out.bytes, file_of(0).size() + file_of(1).size() + file_of(2).size());
    const auto in = import_archive(root("to"), check_archive(tar));
    EXPECT_EQ(in.entries, 3u);
    EXPECT_EQ(in.bytes, out.bytes);
    DiskStore store(scratch / "to");
    for (const auto& key : keys) EXPECT_NE(store.find(key), nullptr);
    EXPECT_EQ(store.producers(), std::vector<std::string>{"nvrtc 13.0.88"}) << "a driver-only container finds them";
    const std::string first = bytes_of(tar);
    export_archive(root("to"), tar, {});
    EXPECT_EQ(bytes_of(tar), first);
}

TEST_F(Archive, IsAPlainTar) {
    export_archive(root("from"), tar, {});
    if (std::system("tar --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no tar here";
    fs::create_directory(scratch / "x");
    ASSERT_EQ(std::system(("tar -C " + scratch / "x" + " -xf " + tar).c_str()), 0);
    EXPECT_EQ(bytes_of(scratch / ("x/" + name_of(keys[1]))), file_of(1));
    EXPECT_TRUE(fs::exists(scratch / "x/manifest.json"));
    DiskStore unpacked(scratch / "x");
    EXPECT_NE(unpacked.find(keys[0]), nullptr) << "and a cache when unpacked";
    EXPECT_EQ(unpacked.producers(), std::vector<std::string>{"nvrtc 13.0.88"});
    EXPECT_TRUE(Cache(scratch / "x").verify().findings.empty());
}

// Whoever packs it anew has the last record of 10240 bytes filled up.
TEST_F(Archive, EmptyBlocksMayFollowItsEnd) {
    export_archive(root("from"), tar, {});
    const std::string good = bytes_of(tar);
    for (const std::size_t blocks : {1u, 2u, 17u}) {
        write(tar, good + std::string(512 * blocks, '\0'));
        EXPECT_EQ(check_archive(tar).keys.size(), 3u) << blocks;
    }
    const std::string inside = scratch / "x", list = scratch / "list", again = scratch / "again.tar";
    fs::create_directory(inside);
    const std::string command = "tar -tf " + tar + " > " + list + " && tar -C " + inside + " -xf " + tar +
                                " && tar -C " + inside + " --format=ustar -T " + list + " -cf " + again;
    if (std::system((command + " 2> /dev/null").c_str()) != 0) GTEST_SKIP() << "no such tar here";
    ASSERT_EQ(fs::file_size(again) % 10240, 0u);
    EXPECT_EQ(import_archive(root("to"), check_archive(again)).entries, 3u);
}

TEST_F(Archive, MayHoldSomeArchsOnly) {
    EXPECT_EQ(export_archive(root("from"), tar, {"sm_80"}).entries, 1u);
    EXPECT_EQ(import_archive(root("to"), check_archive(tar)).entries, 1u);
    EXPECT_NE(DiskStore(scratch / "to").find(keys[2]), nullptr);
    EXPECT_EQ(DiskStore(scratch / "to").find(keys[0]), nullptr);
}

TEST_F(Archive, SkipsWhatIsThereAndMendsWhatIsDamagedThere) {
    export_archive(root("from"), tar, {});
    import_archive(root("to"), check_archive(tar));
    write(sample::entry_path(scratch / "to", keys[0]), "rubbish");
    const auto again = import_archive(root("to"), check_archive(tar));
    EXPECT_EQ(again.entries, 1u);
    EXPECT_EQ(again.skipped, 2u);
    EXPECT_NE(DiskStore(scratch / "to").find(keys[0]), nullptr);
}

TEST_F(Archive, LeavesOutWhatIsDamaged) {
    write(sample::entry_path(scratch / "from", keys[0]), "rubbish");
    const auto out = export_archive(root("from"), tar, {});
    EXPECT_EQ(out.entries, 2u);
    EXPECT_EQ(out.skipped, 1u);
    ASSERT_EQ(out.left_out.size(), 1u);
    EXPECT_EQ(out.left_out[0].path, name_of(keys[0]));
    EXPECT_NE(out.left_out[0].why, "");
    EXPECT_EQ(import_archive(root("to"), check_archive(tar)).entries, 2u);
}

TEST_F(Archive, WhatIsKnownToBeOfAnotherArchIsNotMissed) {
    for (const std::size_t i : {0u, 1u}) {
        std::string damaged = file_of(i);
        damaged.back() = static_cast<char>(damaged.back() ^ 1);
        write(sample::entry_path(scratch / "from", keys[i]), i == 0 ? "rubbish" : damaged);
    }
    const auto out = export_archive(root("from"), tar, {"sm_80"});
    EXPECT_EQ(out.entries, 1u);
    ASSERT_EQ(out.left_out.size(), 1u) << "of the other one it cannot be known";
    EXPECT_EQ(out.left_out[0].path, name_of(keys[0]));
}

TEST_F(Archive, OfNoEntryThereIsNone) {
    write(tar, "an older one");
    EXPECT_EQ(export_archive(root("empty"), tar, {}).entries, 0u);
    EXPECT_EQ(export_archive(root("from"), tar, {"sm_75"}).entries, 0u);
    EXPECT_EQ(bytes_of(tar), "an older one");
    for (const auto& item : fs::directory_iterator(scratch.path())) EXPECT_NE(item.path().extension(), ".tmp");
    // Nor is one taken in that somebody made all the same, or whose manifest has something else in the place of a
    // number or a list.
    for (const auto& [manifest, why] :
         {std::pair(R"({"format":1,"entries":[],"producers":[]})", "it holds no entry"),
          std::pair(R"({"format":1,"entries":{},"producers":[]})", "manifest cannot be read"),
          std::pair(R"({"format":1.5,"entries":[],"producers":[]})", "manifest cannot be read"),
          std::pair(R"({"format":true,"entries":[],"producers":[]})", "manifest cannot be read"),
          std::pair(R"({"format":1,"entries":[],"producers":{}})", "manifest cannot be read"),
          std::pair(R"({"format":1,"entries":[{"key":"a","bytes":1.5,"digest":"b"}],"producers":[]})",
                    "manifest cannot be read"),
          std::pair(R"([1])", "manifest cannot be read")})
        EXPECT_NE(refusal(tar_member("manifest.json", manifest) + tar_end()).find(why), std::string::npos) << manifest;
}

TEST_F(Archive, AnArchMeansWhatIsCompiledForIt) {
    EXPECT_EQ(export_archive(root("from"), tar, {"sm_80a"}).entries, 1u)
        << "compiled without a suffix that it needs not";
    EXPECT_EQ(export_archive(root("from"), tar, {"sm_90a"}).entries, 2u);
    EXPECT_EQ(export_archive(root("from"), tar, {"sm_90"}).entries, 0u)
        << "nothing else runs what is compiled for sm_90a";
}

TEST_F(Archive, AKilledExportLeavesNothingToTheNext) {
    fs::create_directory(scratch / "out");
    const Writer dead{this_writer().host, 999999999, "00c0ffee00c0ffee"};  // above any process number
    const std::string left = scratch / "out" + "/" + temporary_name(dead), other = scratch / "out/.notes.tmp";
    write(left, "half an archive");
    write(other, "not ours");
    EXPECT_EQ(export_archive(root("from"), scratch / "out/x.tar", {}).entries, 3u);
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(fs::exists(other));
}

TEST_F(Archive, AnyFlippedByteOrCutIsRefused) {
    export_archive(root("from"), tar, {"sm_80"});
    const std::string good = bytes_of(tar);
    for (std::size_t i = 0; i < good.size(); i += 7) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ 0x41);
        EXPECT_NE(refusal(bad), "accepted") << i;
    }
    for (std::size_t length = 0; length < good.size(); length += 97)
        EXPECT_NE(refusal(good.substr(0, length)), "accepted") << length;
}

TEST_F(Archive, RefusesWhatWasNotMadeByIt) {
    export_archive(root("from"), tar, {});
    const std::string good = bytes_of(tar);
    const std::string entry = file_of(0), end = tar_end();
    const auto manifest = [&](const std::string& text) { return tar_member("manifest.json", text); };
    const std::string listed = "{\"format\":1,\"entries\":[{\"key\":\"" + keys[0] +
                               "\",\"bytes\":" + std::to_string(entry.size()) + ",\"digest\":\"" + digest(entry) +
                               "\"}]";
    const std::string of_one = listed + ",\"producers\":[\"nvrtc 13.0.88\"]}";
    const std::string producer = tar_member("producers/nvrtc 13.0.88", "");
    EXPECT_EQ(refusal(tar_member(name_of(keys[0]), entry) + producer + manifest(of_one) + end), "accepted");
    fs::remove_all(scratch / "to");

    const auto says = [&](const std::string& archive, const std::string& what) {
        const std::string why = refusal(archive);
        EXPECT_NE(why.find(what), std::string::npos) << why;
        EXPECT_EQ(why.find("exception"), std::string::npos) << "in words of our own: " << why;
    };
    says("", "cut");
    says("no tar at all, " + std::string(2000, 'x'), "no plain tar");
    says(tar_member(name_of(keys[0]), entry) + end, "no manifest");
    says(end, "no manifest");
    says(manifest(of_one) + end, "not those of its manifest");
    says(tar_member(name_of(keys[0]), entry) + tar_member(name_of(keys[1]), file_of(1)) + manifest(of_one) + end,
         "not those of its manifest");
    says(tar_member(name_of(keys[0]), entry) + tar_member(name_of(keys[0]), entry) + manifest(of_one) + end, "twice");
    says(manifest(of_one) + tar_member(name_of(keys[0]), entry) + end, "follows its manifest");
    const std::string one = tar_member(name_of(keys[0]), entry);
    for (const std::string& more : {std::string("x"), std::string("\0", 1), std::string(511, '\0'),
                                    tar_end() + std::string(1, '\0'), tar_end() + "x", tar_end() + one, one})
        says(one + producer + manifest(of_one) + end + more, "something follows its end");
    std::string padded = one;
    ASSERT_EQ(padded.back(), '\0');
    padded.back() = 'x';
    says(padded + producer + manifest(of_one) + end, "what pads its member");
    says(one + producer + manifest(listed + "}") + end, "does not name the producers");
    says(one + producer + manifest(listed + ",\"producers\":[]}") + end, "producers of its entries are not those");
    says(one + producer + manifest(listed + ",\"producers\":[\"a\",\"a\"]}") + end, "a producer twice");
    says(one + producer + manifest(listed + ",\"producers\":[1]}") + end, "manifest cannot be read");
    says(one + manifest(of_one) + end, "it lacks producers/nvrtc 13.0.88");
    says(one + producer + producer + manifest(of_one) + end, "producers/nvrtc 13.0.88 twice");
    says(one + producer + tar_member("producers/nvrtc 1", "") + manifest(of_one) + end, "made none of its entries");
    for (const std::string& text :
         {std::string("{}"), std::string("[]"), std::string("{\"format\":1}"), std::string("\xff"),
          std::string("{\"format\":1,\"entries\":[{\"key\":1}]}"), std::string(5000, '[')})
        says(tar_member(name_of(keys[0]), entry) + manifest(text) + end, "manifest cannot be read");
    says(tar_member(name_of(keys[0]), entry) + manifest("{\"format\":2,\"entries\":[]}") + end, "format is 2");
    says(tar_member(name_of(keys[1]), entry) + manifest(of_one) + end, "another key");
    says(tar_member(name_of(keys[0]), "rubbish") + manifest(of_one) + end, "damaged");
}

TEST_F(Archive, NoNameLeadsOutOfTheCache) {
    const std::string entry = file_of(0), key = keys[0];
    for (const std::string& name :
         {"../" + key + ".cubin", "/tmp/" + key + ".cubin", key + ".cubin", "ab/../" + name_of(key),
          "./" + name_of(key), name_of(key) + "/", std::string("../../etc/passwd"), std::string("quarantine/x"),
          std::string("producers/../x"), std::string("producers/"), "zz/" + key + ".cubin", std::string()})
        EXPECT_NE(refusal(tar_member(name, entry) + tar_end()).find("no entry of a cache"), std::string::npos) << name;
    // A link, a directory and the extensions of the format.
    for (const char type : {'1', '2', '3', '5', '6', 'x', 'g', 'L', '\0'}) {
        std::string member = tar_member(name_of(key), entry);
        const unsigned old = '0';
        member[156] = type;
        unsigned sum = static_cast<unsigned>(std::strtoul(member.substr(148, 6).c_str(), nullptr, 8));
        sum = sum - old + static_cast<unsigned char>(type);
        char digits[8];
        std::snprintf(digits, sizeof digits, "%06o", sum);
        member.replace(148, 6, digits);
        EXPECT_NE(refusal(member + tar_end()).find("no plain file"), std::string::npos) << type;
    }
}

TEST_F(Archive, ALinkStaysAndWhatItNamesIsReplaced) {
    fs::create_directory(scratch / "far");
    fs::create_symlink("far/second", scratch / "link");
    fs::create_symlink("new.tar", scratch / "far/second");
    EXPECT_EQ(export_archive(root("from"), scratch / "link", {}).entries, 3u);
    EXPECT_TRUE(fs::is_symlink(scratch / "link") && fs::is_symlink(scratch / "far/second"));
    EXPECT_EQ(check_archive(scratch / "far/new.tar").keys.size(), 3u);
    fs::permissions(scratch / "far/new.tar", fs::perms(0600));
    EXPECT_EQ(export_archive(root("from"), scratch / "link", {"sm_80"}).entries, 1u);
    EXPECT_EQ(check_archive(scratch / "far/new.tar").keys.size(), 1u);
    EXPECT_EQ(fs::status(scratch / "far/new.tar").permissions(), fs::perms(0600));
    fs::create_symlink("loop", scratch / "loop");
    fs::create_symlink("/proc/self/fd/0", scratch / "open");
    for (const char* name : {"loop", "open"}) {
        EXPECT_THROW(export_archive(root("from"), scratch / name, {}), CacheError) << name;
        EXPECT_TRUE(fs::is_symlink(scratch / name)) << name;
    }
}

TEST_F(Archive, BadPathsAreErrorsAndLeaveNothing) {
    EXPECT_THROW(export_archive(root("from"), scratch / "no/such/x.tar", {}), CacheError);
    EXPECT_THROW(export_archive(root("from"), scratch / "from/", {}), CacheError);
    EXPECT_THROW(export_archive(root("from"), "", {}), CacheError);
    ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
    EXPECT_THROW(export_archive(root("from"), scratch / "pipe", {}), CacheError);
    EXPECT_TRUE(fs::is_fifo(scratch / "pipe")) << "what is no file is not replaced";
    EXPECT_THROW(import_archive(root("to"), check_archive(scratch / "nothing.tar")), CacheError);
    EXPECT_THROW(import_archive(root("to"), check_archive(scratch / "from")), CacheError);
    fs::create_directory(scratch / "taken.tar");
    EXPECT_THROW(export_archive(root("from"), scratch / "taken.tar", {}), CacheError);
    for (const auto& item : fs::directory_iterator(scratch.path())) EXPECT_NE(item.path().extension(), ".tmp");
}
