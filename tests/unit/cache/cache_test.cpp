// The public face of the room: what `convt cache` is made of.
#include "convt_jit/cache.h"

#include "cache/disk_store.h"
#include "cache/layout.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <chrono>
#include <fstream>
#include <map>

using namespace convt_jit;
namespace fs = std::filesystem;

namespace {

class PublicCache : public ::testing::Test {
protected:
    const sample::Scratch scratch;
    const sample::Variable directory_variable{"CONVT_JIT_CACHE_DIR", scratch / "c"};
    const std::string directory = scratch / "c";
    const Cache cache;

    std::string keep(const std::string& source, const std::string& arch = "sm_90a",
                     const std::string& producer = "nvrtc 13.0.88",
                     const std::string& layer = "c32 o64 k3x3 f32") const {
        Entry entry = sample::entry(source, 1000);
        entry.key.arch = arch;
        entry.key.producer = producer;
        entry.provenance.layer = layer;
        EXPECT_TRUE(DiskStore(directory).put(digest(entry.key), entry));
        return digest(entry.key);
    }
    [[nodiscard]] std::string path(const std::string& key) const { return sample::entry_path(directory, key); }
    void age(const std::string& key, int seconds) const {
        fs::last_write_time(path(key), fs::last_write_time(path(key)) - std::chrono::seconds(seconds));
    }
    static CacheWanted wanted(const std::string& source) {
        const Entry entry = sample::entry(source);
        return {{entry.key.source_digest, entry.key.options, entry.key.arch, entry.key.producer, entry.key.format},
                entry.provenance.layer,
                entry.provenance.plan,
                entry.provenance.library};
    }
};

// An entry of a later version of the library, sound by its own rules.
std::string of_another_format(const Entry& entry) {
    std::string bytes = encode(entry);
    bytes[8] = 9;
    bytes.resize(bytes.size() - 16);
    XXH128_canonical_t sum;
    XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes.data(), bytes.size()));
    return bytes.append(reinterpret_cast<const char*>(sum.digest), sizeof sum.digest);
}

}  // namespace

TEST_F(PublicCache, ListsTheMostRecentlyUsedFirst) {
    const auto a = keep("a"), b = keep("b", "sm_80");
    age(a, 1000);
    const auto all = cache.list();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].key, b);
    EXPECT_EQ(all[1].key, a);
    EXPECT_EQ(all[0].fields.arch, "sm_80");
    EXPECT_EQ(all[0].layer, "c32 o64 k3x3 f32");
    EXPECT_EQ(all[0].cubin_bytes, 1000u);
    EXPECT_EQ(all[0].bytes, fs::file_size(path(b)));
    EXPECT_EQ(all[0].path, path(b));
    EXPECT_NEAR(all[0].last_used - all[1].last_used, 1000, 10);
    EXPECT_TRUE(all[0].readable);
}

TEST_F(PublicCache, ShowsAnEntryByTheBeginningOfItsKey) {
    const auto a = keep("a");
    EXPECT_EQ(cache.show(a).key, a);
    EXPECT_EQ(cache.show(a.substr(0, 5)).key, a);
    EXPECT_EQ(cache.cubin(a), sample::entry("a", 1000).cubin);
    EXPECT_THROW(static_cast<void>(cache.show("")), CacheError);
    EXPECT_THROW(static_cast<void>(cache.show("xyz")), CacheError);
    EXPECT_THROW(static_cast<void>(cache.show(a + "0")), CacheError);
    std::string last = a;
    for (int i = 0; last[0] != a[0] || last == a; ++i) last = keep("more" + std::to_string(i));
    EXPECT_THROW(static_cast<void>(cache.show(a.substr(0, 1))), CacheError);
}

TEST_F(PublicCache, DamageIsFoundAndMended) {
    const auto good = keep("a"), bad = keep("b"), moved = keep("c"), foreign = keep("d");
    std::ofstream(path(bad), std::ios::binary | std::ios::in).seekp(200).put('\x7f');
    const std::string elsewhere =
        directory + "/" + moved.substr(0, 2) + "/" + moved.substr(0, 2) + std::string(30, '0') + ".cubin";
    fs::rename(path(moved), elsewhere);
    const std::string later = of_another_format(sample::entry("d", 1000));
    std::ofstream(path(foreign), std::ios::binary).write(later.data(), static_cast<std::streamsize>(later.size()));
    std::ofstream(directory + "/notes.txt") << "hello";

    const auto found = cache.verify();
    EXPECT_TRUE(found.damaged());
    EXPECT_EQ(found.sound, 1u);
    std::map<std::string, CacheFindingKind> kinds;
    for (const auto& finding : found.findings) {
        kinds[finding.path] = finding.kind;
        EXPECT_FALSE(finding.mended);
        EXPECT_FALSE(finding.why.empty());
    }
    const auto inside = [&](const std::string& file) { return file.substr(directory.size() + 1); };
    EXPECT_EQ(kinds, (std::map<std::string, CacheFindingKind>{{inside(path(bad)), CacheFindingKind::damaged},
                                                              {inside(elsewhere), CacheFindingKind::misplaced},
                                                              {inside(path(foreign)), CacheFindingKind::other_format},
                                                              {"notes.txt", CacheFindingKind::stray}}));
    EXPECT_THROW(static_cast<void>(cache.cubin(bad)), CacheError);

    const auto repaired = cache.verify(true);
    EXPECT_TRUE(repaired.damaged()) << "what was found, even though it is mended";
    const auto after = cache.verify();
    EXPECT_FALSE(after.damaged());
    EXPECT_EQ(after.findings.size(), 2u) << "what is not ours stays";
    EXPECT_EQ(cache.stat().quarantined, 2u);
    EXPECT_TRUE(fs::exists(path(good)) && fs::exists(path(foreign)) && fs::exists(directory + "/notes.txt"));
}

TEST_F(PublicCache, AnEntryOfAnotherVersionIsNeitherUsedNorDamaged) {
    const Entry entry = sample::entry("a");
    Entry later = entry;
    later.key.format = 9;
    const std::string key = digest(later.key);
    keep("b");
    fs::create_directories(fs::path(path(key)).parent_path());
    const std::string bytes = of_another_format(later);
    std::ofstream(path(key), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    EXPECT_NE(key, digest(entry.key)) << "another version never asks for it";
    EXPECT_EQ(DiskStore(directory).find(digest(entry.key)), nullptr);
    EXPECT_FALSE(cache.verify(true).damaged());
    EXPECT_TRUE(fs::exists(path(key)));
    EXPECT_FALSE(cache.show(key).readable);
}

TEST_F(PublicCache, RepairFindsTheProducersAgain) {
    const auto a = keep("a", "sm_90a", "nvrtc 12.9.86");
    fs::remove_all(directory + "/producers");
    cache.verify();
    EXPECT_FALSE(fs::exists(directory + "/producers")) << "who only looks makes nothing";
    cache.verify(true);
    EXPECT_TRUE(fs::exists(directory + "/producers/nvrtc 12.9.86"));
    EXPECT_EQ(DiskStore(directory).producers(), std::vector<std::string>{"nvrtc 12.9.86"});
}

TEST_F(PublicCache, Stat) {
    EXPECT_FALSE(cache.exists());
    EXPECT_THROW(static_cast<void>(cache.stat()), CacheError);
    keep("a"), keep("b", "sm_80"), keep("c", "sm_80", "nvrtc 12.9.86");
    const sample::Variable cap("CONVT_JIT_CACHE_MAX_BYTES", "64M");
    DiskStore live(directory);
    ASSERT_NE(live.find(digest(sample::entry("a", 1000).key)), nullptr);
    const auto stat = cache.stat();
    EXPECT_EQ(stat.entries, 3u);
    EXPECT_EQ(stat.in_use, 1u);
    EXPECT_EQ(stat.processes, 1u);
    EXPECT_EQ(stat.max_bytes, 64u << 20);
    EXPECT_EQ(stat.producers, (std::vector<std::string>{"nvrtc 12.9.86", "nvrtc 13.0.88"}));
    ASSERT_EQ(stat.archs.size(), 2u);
    EXPECT_EQ(stat.archs[0].arch, "sm_80");
    EXPECT_EQ(stat.archs[0].entries, 2u);
    EXPECT_EQ(stat.archs[0].bytes + stat.archs[1].bytes, stat.bytes);
}

TEST_F(PublicCache, TrimAndPruneTellWhatTheyDo) {
    const auto a = keep("a"), b = keep("b", "sm_80"), c = keep("c");
    age(a, 3000), age(b, 2000), age(c, 1000);
    const auto size = fs::file_size(path(a));
    const auto dry = cache.trim(2 * size + 100, true);
    EXPECT_EQ(dry.evicted, 1u);
    EXPECT_TRUE(fs::exists(path(a)));
    const auto done = cache.trim(2 * size + 100);
    ASSERT_EQ(done.verdicts.size(), dry.verdicts.size());
    for (std::size_t i = 0; i < done.verdicts.size(); ++i) EXPECT_EQ(done.verdicts[i].verdict, dry.verdicts[i].verdict);
    EXPECT_FALSE(fs::exists(path(a)));
    EXPECT_EQ(cache.prune({"sm_80"}, 1500).evicted, 1u);
    EXPECT_FALSE(fs::exists(path(b)));
    EXPECT_EQ(cache.prune({}, 1500).evicted, 0u);
    EXPECT_THROW(cache.prune({}, -1), CacheError);
    EXPECT_THROW(cache.prune({}, 0.0 / 0.0), CacheError);
    const sample::Variable no_cap("CONVT_JIT_CACHE_MAX_BYTES", "0");
    EXPECT_EQ(cache.trim().evicted, 0u);
    EXPECT_EQ(cache.trim(0).evicted, 1u);
}

TEST_F(PublicCache, ExplainsAHit) {
    const auto key = keep("a");
    const auto explanation = cache.explain(wanted("a"));
    ASSERT_TRUE(explanation.hit);
    EXPECT_EQ(explanation.hit->key, key);
    EXPECT_EQ(explanation.key, key);
    EXPECT_FALSE(explanation.nearest);
    auto any = wanted("a");
    any.fields.producer.clear();
    EXPECT_TRUE(cache.explain(any).hit) << "no compiler is known";
    any.fields.producer = "nvrtc 13.1.1";
    EXPECT_FALSE(cache.explain(any).hit);
    const sample::Variable policy("CONVT_JIT_CACHE_PRODUCER", "same-major");
    EXPECT_TRUE(cache.explain(any).hit);
}

TEST_F(PublicCache, ExplainsAMissByTheNearestEntry) {
    keep("a"), keep("b", "sm_80", "nvrtc 13.0.88", "c1 o1 k1");
    auto missed = wanted("a");
    missed.fields.producer = "nvrtc 13.1.1";
    missed.fields.options += " -lineinfo";
    const auto near_a = cache.explain(missed);
    ASSERT_TRUE(near_a.nearest);
    EXPECT_EQ(near_a.nearest->fields.source, missed.fields.source);
    ASSERT_EQ(near_a.differing.size(), 2u);
    EXPECT_EQ(near_a.differing[0].field, "options");
    EXPECT_EQ(near_a.differing[1].field, "producer");
    EXPECT_EQ(near_a.differing[1].wanted, "nvrtc 13.1.1");
    EXPECT_EQ(near_a.differing[1].nearest, "nvrtc 13.0.88");

    auto replanned = wanted("other text");
    replanned.plan = "direct positions=4";
    const auto same_layer = cache.explain(replanned);
    ASSERT_TRUE(same_layer.nearest);
    EXPECT_EQ(same_layer.nearest->layer, replanned.layer) << "an entry of the same layer tells most";
    ASSERT_EQ(same_layer.differing.size(), 2u);
    EXPECT_EQ(same_layer.differing[0].field, "source");
    EXPECT_EQ(same_layer.differing[1].field, "plan");
}

TEST_F(PublicCache, ExplainsAMissInAnEmptyCache) {
    fs::create_directory(directory);
    fs::permissions(directory, fs::perms(0700));
    const auto explanation = cache.explain(wanted("a"));
    EXPECT_FALSE(explanation.hit || explanation.nearest);
    EXPECT_EQ(explanation.key, digest(sample::entry("a").key));
}

TEST_F(PublicCache, ADirectoryThatIsNotThereIsAnError) {
    const Cache none(scratch / "none");
    EXPECT_THROW(static_cast<void>(none.list()), CacheError);
    EXPECT_THROW(static_cast<void>(none.verify()), CacheError);
    EXPECT_THROW(none.trim(), CacheError);
    EXPECT_THROW(none.export_to(scratch / "x.tar"), CacheError);
    EXPECT_FALSE(fs::exists(scratch / "none") || fs::exists(scratch / "x.tar"));
    EXPECT_THROW(Cache(""), CacheError);
    const sample::Variable layers("CONVT_JIT_CACHE_PATH", "/a:/b");
    EXPECT_EQ(cache_directories(), (std::vector<std::string>{directory, "/a", "/b"}));
}

TEST_F(PublicCache, ABadFileMakesNoDirectory) {
    std::ofstream(scratch / "bad.tar") << "no tar";
    EXPECT_THROW((void)cache.import_from(scratch / "bad.tar"), CacheError);
    EXPECT_THROW((void)cache.import_from(scratch / "missing.tar"), CacheError);
    EXPECT_FALSE(fs::exists(directory));
}

TEST_F(PublicCache, ExplainsWhatIsThereAndNotUsed) {
    const std::string key = keep("a");
    const auto unused = [&](const CacheWanted& want, const std::string& reason, const std::string& why) {
        const auto explanation = cache.explain(want);
        EXPECT_FALSE(explanation.hit);
        ASSERT_EQ(explanation.unused.size(), 1u) << reason;
        EXPECT_EQ(explanation.unused[0].reason, reason);
        EXPECT_NE(explanation.unused[0].why.find(why), std::string::npos) << explanation.unused[0].why;
    };
    EXPECT_TRUE(cache.explain(wanted("a")).unused.empty()) << "a hit";
    EXPECT_TRUE(cache.explain(wanted("b")).unused.empty()) << "nothing of that key";
    CacheWanted other = wanted("a");
    other.fields.producer = "nvrtc 12.1.7";
    unused(other, "other producer", "nvrtc 13.0.88 made it, and nvrtc 12.1.7 is wanted");
    fs::permissions(path(key), fs::perms(0666));
    unused(wanted("a"), "untrusted", "anybody can write to it");
    fs::permissions(path(key), fs::perms(0600));
    const std::string good = encode(sample::entry("a", 1000));
    std::ofstream(path(key), std::ios::trunc) << good.substr(0, good.size() - 1) << '!';
    unused(wanted("a"), "damaged", "checksum");
    fs::remove(path(key));
    fs::remove(fs::path(path(key)).parent_path());
    std::ofstream(fs::path(path(key)).parent_path()) << "x";
    unused(wanted("a"), "unreadable", "Not a directory");
}

TEST_F(PublicCache, ToldInAdvanceWhetherItKeepsAnything) {
    EXPECT_EQ(cache.trouble(), "");
    EXPECT_TRUE(fs::is_empty(directory)) << "made, and nothing left in it";
    fs::permissions(directory, fs::perms(0777));
    EXPECT_NE(cache.trouble().find("anybody can write to it"), std::string::npos);
    std::ofstream(scratch / "file") << "x";
    EXPECT_NE(Cache(scratch / "file").trouble(), "");
    EXPECT_NE(Cache(scratch / "file/below").trouble(), "");
    EXPECT_NE(Cache("/proc/convt").trouble(), "");
}
