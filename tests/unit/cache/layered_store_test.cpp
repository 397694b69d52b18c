#include "cache/layered_store.h"

#include "cache/memory_store.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>

using namespace convt_jit;

namespace {

struct Layers {
    std::shared_ptr<MemoryStore> user = std::make_shared<MemoryStore>();
    std::shared_ptr<MemoryStore> image = std::make_shared<MemoryStore>();
    LayeredStore all{{{user, StoreRole::writable}, {image, StoreRole::read_only}}};
};

}  // namespace

TEST(LayeredStore, PutReachesAllButTheReadOnly) {
    Layers layers;
    EXPECT_TRUE(layers.all.put("k", sample::entry()));
    EXPECT_NE(layers.user->find("k"), nullptr);
    EXPECT_EQ(layers.image->find("k"), nullptr);
}

TEST(LayeredStore, TheFirstStoreThatHasItAnswers) {
    Layers layers;
    layers.user->put("k", sample::entry("user"));
    layers.image->put("k", sample::entry("image"));
    EXPECT_EQ(layers.all.find("k")->key.source_digest, digest(std::string_view("user")));
}

TEST(LayeredStore, AHitInALowerLayerIsUsedInPlace) {
    Layers layers;
    layers.image->put("k", sample::entry("image"));
    EXPECT_NE(layers.all.find("k"), nullptr);
    EXPECT_EQ(layers.user->find("k"), nullptr);
}

TEST(LayeredStore, KnowsTheProducersOfAllLayers) {
    Layers layers;
    Entry other = sample::entry();
    other.key.producer = "nvrtc 12.9.86";
    layers.user->put("k", sample::entry());
    layers.image->put("k", sample::entry());
    layers.image->put("l", other);
    EXPECT_EQ(layers.all.producers(), (std::vector<std::string>{"nvrtc 13.0.88", "nvrtc 12.9.86"}));
}

TEST(LayeredStore, AStoreThatFailsIsTold) {
    LayeredStore all({{std::make_shared<MemoryStore>(1), StoreRole::writable}});
    EXPECT_FALSE(all.put("k", sample::entry()));
    EXPECT_EQ(LayeredStore({}).find("k"), nullptr);
    EXPECT_TRUE(LayeredStore({}).put("k", sample::entry())) << "there is nothing to fail";
}
