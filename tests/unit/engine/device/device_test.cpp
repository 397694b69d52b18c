// The engine on a device, with a driver that has no GPU behind it: what is loaded, kept, replaced and launched.
#include "convt_jit/convt_jit.h"
#include "unit/cache/sample.h"
#include "unit/driver/fake.h"

#include <algorithm>
#include <thread>

namespace convt_jit {
namespace {

using namespace std::chrono_literals;

class EngineOnDevice : public test::FakeDriver {
protected:
    [[nodiscard]] EngineOptions options() const {
        EngineOptions options;
        options.cache_dir = directory_;
        return options;
    }
    [[nodiscard]] std::vector<CacheEntry> kept() const {
        return Cache(directory_).exists() ? Cache(directory_).list() : std::vector<CacheEntry>();
    }
    // Threads per block of the kernel that a launch runs.
    unsigned launched(const Kernel& kernel) {
        Tensors tensors;
        tensors.x = tensors.w = &tensors;
        tensors.y = &tensors;
        kernel.launch(tensors, known_shape(layer_));
        const auto launches = fake.take_launches();
        return launches.size() == 1 ? launches[0].threads : 0;
    }

    sample::Scratch scratch_;
    std::string directory_ = scratch_ / "cache";
    sample::Variable own_{"CONVT_JIT_CACHE_DIR", directory_};
    Layer layer_ = parse_layer("n1 c4 o8 in20x20 k3x3 s2x2");
    PrepareOptions on_device_{Device::cuda(0), "", false, Policy::wait};
};

TEST_F(EngineOnDevice, WhatDoesNotLoadIsNotKept) {
    Engine engine(options());
    fake.fail_next("cuModuleLoadData", CUDA_ERROR_NO_BINARY_FOR_GPU);
    EXPECT_THROW((void)engine.prepare(layer_, on_device_), DriverError);
    EXPECT_TRUE(kept().empty());
    EXPECT_EQ(engine.prepare(layer_, on_device_).info().origin, Origin::compiler);
    ASSERT_EQ(kept().size(), 1u);
    EXPECT_EQ(kept()[0].registers, 40) << "what the driver said of it";
    EXPECT_EQ(kept()[0].spill_bytes, 8);
}

TEST_F(EngineOnDevice, ACachedKernelThatDoesNotLoadIsReplacedOnce) {
    const std::string key = Engine(options()).prepare(layer_, on_device_).info().key;
    {
        const sample::Warnings warnings;
        fake.fail_next("cuModuleLoadData", CUDA_ERROR_INVALID_IMAGE);
        const Kernel kernel = Engine(options()).prepare(layer_, on_device_);
        EXPECT_EQ(kernel.info().origin, Origin::compiler);
        EXPECT_EQ(kernel.info().key, key);
        EXPECT_NE(launched(kernel), 0u);
        ASSERT_EQ(warnings.lines().size(), 1u);
        EXPECT_NE(warnings.lines()[0].find("does not load"), std::string::npos);
    }
    EXPECT_EQ(kept().size(), 1u);
    EXPECT_EQ(Engine(options()).prepare(layer_, on_device_).info().origin, Origin::disk);
}

TEST_F(EngineOnDevice, ASecondContextNeedsNeitherDiskNorCompiler) {
    Engine engine(EngineOptions{""});
    (void)engine.prepare(layer_, on_device_);
    const CUcontext own = fake.create_context(0);
    const Kernel kernel = engine.prepare(layer_, on_device_);
    EXPECT_EQ(kernel.info().origin, Origin::memory);
    EXPECT_NE(kernel.info().load_ms, 0) << "loaded into this context too";
    EXPECT_NE(launched(kernel), 0u);
    fake.destroy_context(own);
}

TEST_F(EngineOnDevice, WithoutWaitingTheLaunchChanges) {
    const unsigned wanted = static_cast<unsigned>(Engine(EngineOptions{""}).prepare(layer_, on_device_).info().threads);
    Engine engine(options());
    const Kernel kernel = engine.prepare(layer_, on_device_, Policy::no_wait);
    for (int i = 0; i < 60'000 && kernel.pending(); ++i) std::this_thread::sleep_for(1ms);
    ASSERT_FALSE(kernel.pending());
    EXPECT_EQ(launched(kernel), wanted);
    EXPECT_EQ(kept().size(), 2u) << "both are kept";

    const Kernel later = Engine(options()).prepare(layer_, on_device_, Policy::no_wait);
    EXPECT_FALSE(later.pending()) << "it is on disk";
    EXPECT_EQ(later.info().origin, Origin::disk);
    EXPECT_EQ(launched(later), wanted);
}

TEST_F(EngineOnDevice, ThreadsLoadOneModule) {
    const int before = fake.loaded_modules();
    Engine engine(options());
    std::vector<Kernel> kernels(8);
    std::vector<std::thread> threads;
    for (auto& kernel : kernels) threads.emplace_back([&] { kernel = engine.prepare(layer_, on_device_); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(fake.loaded_modules() - before, 1);
    EXPECT_EQ(std::count_if(kernels.begin(), kernels.end(),
                            [](const Kernel& kernel) { return kernel.info().origin == Origin::compiler; }),
              1);
}

}  // namespace
}  // namespace convt_jit
