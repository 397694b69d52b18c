#include "cache/layered_store.h"

#include "cache/memory_store.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>

using namespace convt_jit;

namespace {

struct Layers {
    std::shared_ptr<MemoryStore> memory = std::make_shared<MemoryStore>();
    std::shared_ptr<MemoryStore> user = std::make_shared<MemoryStore>();
    std::shared_ptr<MemoryStore> image = std::make_shared<MemoryStore>();
    LayeredStore all{{{memory, StoreRole::memory}, {user, StoreRole::writable}, {image, StoreRole::read_only}}};
};

}  // namespace

TEST(LayeredStore, PutReachesAllButTheReadOnly) {
    Layers layers;
    EXPECT_TRUE(layers.all.put("k", sample::entry()));
    EXPECT_NE(layers.memory->find("k"), nullptr);
    EXPECT_NE(layers.user->find("k"), nullptr);
    EXPECT_EQ(layers.image->find("k"), nullptr);
}

TEST(LayeredStore, TheFirstStoreThatHasItAnswers) {
    Layers layers;
    layers.user->put("k", sample::entry("user"));
    layers.image->put("k", sample::entry("image"));
    EXPECT_EQ(layers.all.find("k")->key.source_digest, digest(std::string_view("user")));
}

TEST(LayeredStore, AHitInALowerLayerIsUsedInPlaceAndRememberedInMemory) {
    Layers layers;
    layers.image->put("k", sample::entry("image"));
    EXPECT_NE(layers.all.find("k"), nullptr);
    EXPECT_NE(layers.memory->find("k"), nullptr);
    EXPECT_EQ(layers.user->find("k"), nullptr);
}

TEST(LayeredStore, AStoreThatFailsIsTold) {
    const auto tiny = std::make_shared<MemoryStore>(1);
    LayeredStore all({{std::make_shared<MemoryStore>(), StoreRole::memory}, {tiny, StoreRole::writable}});
    EXPECT_FALSE(all.put("k", sample::entry()));
    EXPECT_NE(all.find("k"), nullptr);
    EXPECT_EQ(LayeredStore({}).find("k"), nullptr);
}
