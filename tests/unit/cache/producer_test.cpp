#include "cache/producer.h"

#include "cache/compilers.h"
#include "cache/disk_store.h"
#include "cache/layered_store.h"
#include "cache/lookup.h"
#include "cache/producers.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

using namespace convt_jit;
using Names = std::vector<std::string>;

namespace {

Entry made_by(const std::string& producer, const std::string& source = "kernel") {
    Entry entry = sample::entry(source);
    entry.key.producer = producer;
    return entry;
}

std::string producer_found(Store& store, const std::string& wanted, ProducerPolicy policy) {
    const auto entry = find(store, made_by(wanted).key, policy);
    return entry != nullptr ? entry->key.producer : "";
}

void keep(Store& store, const Entry& entry) { ASSERT_TRUE(store.put(digest(entry.key), entry)); }

}  // namespace

TEST(Producer, PoliciesHaveNames) {
    for (const auto policy : {ProducerPolicy::exact, ProducerPolicy::same_major, ProducerPolicy::any})
        EXPECT_EQ(parse_producer_policy(to_string(policy)), policy);
    EXPECT_EQ(parse_producer_policy("Exact"), std::nullopt);
    EXPECT_EQ(parse_producer_policy(""), std::nullopt);
}

TEST(Producer, NumbersCompareAsNumbers) {
    EXPECT_LT(parse_producer("nvrtc 9.2"), parse_producer("nvrtc 13.0.88"));
    EXPECT_LT(parse_producer("nvrtc 13.0.88"), parse_producer("nvrtc 13.0.100"));
    EXPECT_LT(parse_producer("nvrtc 13.0"), parse_producer("nvrtc 13.0.1"));
    EXPECT_EQ(parse_producer("nvrtc 13.0.88").numbers, (std::vector<unsigned>{13, 0, 88}));
    EXPECT_TRUE(parse_producer("nvrtc x.99999999999999999").numbers.empty());
    EXPECT_TRUE(parse_producer("").numbers.empty());
}

TEST(Producer, WhatAPolicyAccepts) {
    const Names known{"nvrtc 12.9.86", "nvrtc 13.0.88", "nvrtc 13.1.9", "other 13.0.1"};
    const std::string wanted = "nvrtc 13.0.100";
    EXPECT_EQ(acceptable_producers(ProducerPolicy::exact, wanted, known), Names{wanted});
    EXPECT_EQ(acceptable_producers(ProducerPolicy::same_major, wanted, known),
              (Names{wanted, "nvrtc 13.1.9", "nvrtc 13.0.88"}));
    EXPECT_EQ(acceptable_producers(ProducerPolicy::any, wanted, known),
              (Names{wanted, "other 13.0.1", "nvrtc 13.1.9", "nvrtc 13.0.88", "nvrtc 12.9.86"}));
}

TEST(Producer, WhereNobodyKnowsTheCompilerEveryOneServesNewestFirst) {
    const Names known{"nvrtc 12.9.86", "nvrtc 13.0.88"};
    for (const auto policy : {ProducerPolicy::exact, ProducerPolicy::same_major, ProducerPolicy::any})
        EXPECT_EQ(acceptable_producers(policy, "", known), (Names{"nvrtc 13.0.88", "nvrtc 12.9.86"}));
    EXPECT_TRUE(acceptable_producers(ProducerPolicy::exact, "", {}).empty());
}

TEST(Producer, LookupsFollowThePolicy) {
    const sample::Scratch scratch;
    DiskStore store(scratch / "c");
    keep(store, made_by("nvrtc 12.9.86"));
    keep(store, made_by("nvrtc 13.0.88"));
    keep(store, made_by("nvrtc 13.1.9", "another kernel"));
    EXPECT_EQ(producer_found(store, "nvrtc 12.9.86", ProducerPolicy::exact), "nvrtc 12.9.86");
    EXPECT_EQ(producer_found(store, "nvrtc 13.0.1", ProducerPolicy::exact), "");
    EXPECT_EQ(producer_found(store, "nvrtc 13.0.1", ProducerPolicy::same_major), "nvrtc 13.0.88");
    EXPECT_EQ(producer_found(store, "nvrtc 11.8.89", ProducerPolicy::same_major), "");
    EXPECT_EQ(producer_found(store, "nvrtc 11.8.89", ProducerPolicy::any), "nvrtc 13.0.88");
    EXPECT_EQ(producer_found(store, "", ProducerPolicy::exact), "nvrtc 13.0.88");
}

TEST(Producer, TheWantedCompilerInALowerLayerBeatsAnotherAbove) {
    const sample::Scratch scratch;
    const auto user = std::make_shared<DiskStore>(scratch / "user"),
               image = std::make_shared<DiskStore>(scratch / "image");
    keep(*user, made_by("nvrtc 13.1.9"));
    keep(*image, made_by("nvrtc 13.0.88"));
    LayeredStore layers({{user, StoreRole::writable}, {image, StoreRole::read_only}});
    EXPECT_EQ(producer_found(layers, "nvrtc 13.0.88", ProducerPolicy::any), "nvrtc 13.0.88");
    EXPECT_EQ(producer_found(layers, "nvrtc 12.0", ProducerPolicy::any), "nvrtc 13.1.9");
}

TEST(Producer, AListThatWasLostIsMadeAnewFromTheEntries) {
    const sample::Scratch scratch;
    const std::string directory = scratch / "c", list = directory + "/producers";
    DiskStore store(directory);
    keep(store, made_by("nvrtc 12.9.1"));
    keep(store, made_by("nvrtc 13.0.88", "second"));
    std::error_code error;
    const auto root = Root::open(directory, false, error);
    const Names all{"nvrtc 12.9.1", "nvrtc 13.0.88"};
    const auto listed = [&] {
        Names names = listed_producers(*root);
        std::sort(names.begin(), names.end());
        return names;
    };
    // Who only asks finds them and makes nothing.
    std::filesystem::remove_all(list);
    EXPECT_EQ(known_producers(*root), all);
    EXPECT_FALSE(std::filesystem::exists(list));
    DiskStore layer(DiskOptions{.directory = directory, .access = Access::read_only});
    EXPECT_EQ(producer_found(layer, "", ProducerPolicy::exact), "nvrtc 12.9.1");
    EXPECT_FALSE(std::filesystem::exists(list));
    EXPECT_EQ(producer_found(store, "nvrtc 13.1", ProducerPolicy::any), "nvrtc 12.9.1");
    EXPECT_EQ(listed(), all);
    // An entry that is put, too, and not that of its own producer alone; an empty list is a lost one.
    std::filesystem::remove_all(list);
    keep(store, made_by("nvrtc 11.8", "third"));
    EXPECT_EQ(listed(), (Names{"nvrtc 11.8", "nvrtc 12.9.1", "nvrtc 13.0.88"}));
    for (const auto& name : listed()) std::filesystem::remove(list + "/" + name);
    EXPECT_EQ(producer_found(layer, "", ProducerPolicy::exact), "nvrtc 12.9.1");
    // A name that is missing among others comes back with a hit.
    std::filesystem::remove_all(list);
    EXPECT_NE(store.find(digest(made_by("nvrtc 12.9.1").key)), nullptr);
    std::filesystem::remove(list + "/nvrtc 12.9.1");
    EXPECT_NE(store.find(digest(made_by("nvrtc 12.9.1").key)), nullptr);
    EXPECT_EQ(listed(), (Names{"nvrtc 11.8", "nvrtc 12.9.1", "nvrtc 13.0.88"}));
}

TEST(Producer, OddNamesAreKeptWhole) {
    const sample::Scratch scratch;
    std::error_code error;
    const auto root = Root::make(scratch / "c", false, error);
    ASSERT_TRUE(root);
    const Names odd{"..", "../../x", "a/b", "%41", "nvrtc 13.0.88", std::string("\0\xff\n", 3), ".hidden"};
    for (const auto& name : odd) register_producer(*root, name);
    register_producer(*root, "");
    Names known = known_producers(*root);
    std::sort(known.begin(), known.end());
    Names expected = odd;
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(known, expected);
}

TEST(Producer, ACompilerIsRememberedByItsFile) {
    const sample::Scratch scratch;
    const std::string directory = scratch / "c";
    EXPECT_EQ(recall_compiler(directory, "/opt/libnvrtc.so 123"), std::nullopt);
    remember_compiler(directory, "/opt/libnvrtc.so 123", "nvrtc 13.0.88");
    EXPECT_EQ(recall_compiler(directory, "/opt/libnvrtc.so 123"), "nvrtc 13.0.88");
    EXPECT_EQ(recall_compiler(directory, "/opt/libnvrtc.so 124"), std::nullopt);
    remember_compiler(directory, "/opt/libnvrtc.so 123", "nvrtc 13.0.99");
    EXPECT_EQ(recall_compiler(directory, "/opt/libnvrtc.so 123"), "nvrtc 13.0.99");
}

TEST(Producer, ADamagedRecordOfACompilerIsNone) {
    const sample::Scratch scratch;
    const std::string directory = scratch / "c", identity = "/opt/libnvrtc.so 123", other = "/opt/libnvrtc.so 124";
    const auto path = [&](const std::string& of) { return directory + "/compilers/" + digest(of); };
    remember_compiler(directory, identity, "nvrtc 13.0.88");
    std::ifstream file(path(identity), std::ios::binary);
    const std::string sound{std::istreambuf_iterator<char>(file), {}};
    const auto expect_none = [&](const std::string& text) {
        std::ofstream(path(identity), std::ios::binary) << text;
        EXPECT_EQ(recall_compiler(directory, identity), std::nullopt) << text;
    };
    for (std::size_t i = 0; i < sound.size(); ++i) {
        std::string flipped = sound;
        flipped[i] = static_cast<char>(flipped[i] ^ 1);
        expect_none(flipped);
        expect_none(sound.substr(0, i));
    }
    for (const std::string& text : {sound + "x", sound + sound, std::string("nvrtc 12.0\n"), std::string(5000, 'x')})
        expect_none(text);
    // That of another compiler is sound, and not this one's.
    std::ofstream(path(other), std::ios::binary) << sound;
    EXPECT_EQ(recall_compiler(directory, other), std::nullopt);
    remember_compiler(directory, identity, "nvrtc 13.0.88");
    EXPECT_EQ(recall_compiler(directory, identity), "nvrtc 13.0.88");
}
