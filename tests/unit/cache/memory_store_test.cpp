#include "cache/memory_store.h"

#include "unit/cache/sample.h"

#include <gtest/gtest.h>

#include <thread>

using namespace convt_jit;

TEST(MemoryStore, FindsWhatWasPut) {
    MemoryStore store;
    const Entry entry = sample::entry();
    EXPECT_EQ(store.find("k"), nullptr);
    EXPECT_TRUE(store.put("k", entry));
    ASSERT_NE(store.find("k"), nullptr);
    EXPECT_EQ(*store.find("k"), entry);
    store.clear();
    EXPECT_EQ(store.find("k"), nullptr);
    EXPECT_EQ(store.bytes(), 0u);
}

TEST(MemoryStore, ReplacesWithoutCountingTwice) {
    MemoryStore store(1000);
    store.put("k", sample::entry("a", 400));
    store.put("k", sample::entry("b", 300));
    EXPECT_EQ(store.bytes(), 300u);
    EXPECT_EQ(store.find("k")->key.source_digest, digest(std::string_view("b")));
}

TEST(MemoryStore, LeastRecentlyUsedGoesFirst) {
    MemoryStore store(1000);
    store.put("a", sample::entry("a", 400));
    store.put("b", sample::entry("b", 400));
    const auto held = store.find("a");
    store.put("c", sample::entry("c", 400));
    EXPECT_NE(store.find("a"), nullptr);
    EXPECT_EQ(store.find("b"), nullptr);
    EXPECT_NE(store.find("c"), nullptr);
    EXPECT_LE(store.bytes(), 1000u);
}

TEST(MemoryStore, RefusesWhatNeverFitsAndKeepsTheRest) {
    MemoryStore store(1000);
    store.put("a", sample::entry("a", 400));
    EXPECT_FALSE(store.put("b", sample::entry("b", 1001)));
    EXPECT_NE(store.find("a"), nullptr);
}

TEST(MemoryStore, ServesManyThreads) {
    MemoryStore store(4000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&store, t] {
            for (int i = 0; i < 500; ++i) {
                const std::string key = std::to_string((i * (t + 1)) % 16);
                const auto found = store.find(key);
                EXPECT_TRUE(found == nullptr || found->key.source_digest == digest(std::string_view(key)));
                store.put(key, sample::entry(key, 400));
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_LE(store.bytes(), 4000u);
}
