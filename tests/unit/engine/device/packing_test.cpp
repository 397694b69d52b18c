// What a launch of a kernel that packs its weights gives the driver to do. On a driver that has no GPU behind it.
#include "convt_jit/convt_jit.h"
#include "unit/cache/sample.h"
#include "unit/driver/fake.h"

#include <cstring>
#include <thread>

namespace convt_jit {
namespace {

// A launch as the driver saw it.
struct Seen {
    bool packs;
    const void* w;
    const void* packed;
    friend bool operator==(const Seen&, const Seen&) = default;
};

class Packing : public test::FakeDriver {
protected:
    [[nodiscard]] Kernel prepare(Engine& engine) const {
        return engine.prepare(layer_, {Device::cuda(0), "implicit_gemm", false, Policy::wait});
    }
    void launch(const Kernel& kernel, const void* w, std::uint64_t version, StreamHandle stream = nullptr) const {
        Tensors tensors;
        tensors.x = tensors.y = const_cast<float*>(memory_);
        tensors.w = w;
        tensors.weights_version = version;
        kernel.launch(tensors, known_shape(layer_), stream);
    }
    std::vector<Seen> seen() {
        std::vector<Seen> result;
        for (const test::FakeLaunch& launch : fake.take_launches()) {
            const void* pointers[2];  // of PackArgs: w, packed; of ConvtArgs: x, w
            std::memcpy(pointers, launch.argument, sizeof pointers);
            if (launch.function.ends_with("_pack"))
                result.push_back({true, pointers[0], pointers[1]});
            else
                result.push_back({false, pointers[1], launch.packed});
        }
        return result;
    }
    // How many packings and main kernels: "pm" is one of each.
    std::string order() {
        std::string result;
        for (const Seen& one : seen()) result += one.packs ? 'p' : 'm';
        return result;
    }

    Layer layer_ = parse_layer("n1 c16 o20 in8x32 k3x3");
    float memory_[4] = {};
    const void* const w_ = memory_;
    const void* const other_ = memory_ + 1;
    const StreamHandle a_ = reinterpret_cast<StreamHandle>(0xa000), b_ = reinterpret_cast<StreamHandle>(0xb000);
    Engine engine_{EngineOptions{""}};
};

TEST_F(Packing, EachLaunchPacksWhereNothingIsSaidOfTheWeights) {
    const Kernel kernel = prepare(engine_);
    const std::size_t before = fake.allocations();
    launch(kernel, w_, 0, a_);
    launch(kernel, other_, 0, a_);
    const auto launches = seen();
    ASSERT_EQ(launches.size(), 4u);
    const void* const packed = launches[0].packed;
    EXPECT_NE(packed, nullptr);
    EXPECT_EQ(launches, (std::vector<Seen>{
                            {true, w_, packed}, {false, w_, packed}, {true, other_, packed}, {false, other_, packed}}));
    EXPECT_EQ(fake.allocations(), before + 1) << "one buffer for the stream";
}

TEST_F(Packing, AThreadForEvery16BytesOnTheStreamOfTheLaunch) {
    const Kernel kernel = prepare(engine_);
    launch(kernel, w_, 0, a_);
    const auto launches = fake.take_launches();
    ASSERT_EQ(launches.size(), 2u);
    EXPECT_EQ(launches[0].function, launches[1].function + "_pack");
    EXPECT_EQ(launches[0].threads, 256u);
    EXPECT_EQ(launches[0].grid[0], (kernel.info().packed_bytes + 4095) / 4096);
    EXPECT_EQ(launches[0].shared_bytes, 0u);
    EXPECT_EQ(launches[0].stream, a_);
    EXPECT_EQ(launches[1].stream, a_);
}

TEST_F(Packing, WeightsOfAVersionArePackedOnce) {
    const Kernel kernel = prepare(engine_);
    launch(kernel, w_, 1, a_);
    launch(kernel, w_, 1, a_);
    EXPECT_EQ(order(), "pmm");
    launch(kernel, w_, 2, a_);
    launch(kernel, other_, 2, a_);
    launch(kernel, other_, 2, a_);
    EXPECT_EQ(order(), "pmpmm") << "another version, another pointer";
    launch(kernel, other_, 0, a_);
    launch(kernel, other_, 2, a_);
    EXPECT_EQ(order(), "pmpm") << "what version 0 has packed is of no known version";
}

TEST_F(Packing, StreamsHaveBuffersOfTheirOwn) {
    const std::size_t before = fake.allocations();
    {
        const Kernel kernel = prepare(engine_);
        const std::size_t prepared = fake.allocations();
        launch(kernel, w_, 1, a_);
        launch(kernel, w_, 1, b_);
        launch(kernel, w_, 1, a_);
        const auto launches = seen();
        ASSERT_EQ(launches.size(), 5u);
        EXPECT_NE(launches[0].packed, launches[2].packed);
        EXPECT_EQ(launches[4], (Seen{false, w_, launches[0].packed}));
        EXPECT_EQ(fake.allocations(), prepared + 2);
    }
    EXPECT_LE(fake.allocations(), before + 1) << "freed with the handle, though the engine keeps the module";
}

TEST_F(Packing, EveryPrepareHasItsOwn) {
    const Kernel first = prepare(engine_), second = prepare(engine_), copy = first;
    launch(first, w_, 1, a_);
    launch(second, other_, 1, a_);
    launch(first, w_, 1, a_);
    launch(second, other_, 1, a_);
    launch(copy, w_, 1, a_);
    EXPECT_EQ(order(), "pmpmmmm") << "two layers that share a kernel do not disturb each other";
}

TEST_F(Packing, AheadOfTheLaunches) {
    const Kernel kernel = prepare(engine_);
    kernel.pack_weights(w_, 7, a_);
    EXPECT_EQ(order(), "p");
    kernel.pack_weights(w_, 7, a_);
    launch(kernel, w_, 7, a_);
    EXPECT_EQ(order(), "m");
    kernel.pack_weights(w_, 0, a_);
    EXPECT_EQ(order(), "") << "each launch packs anyway";
    EXPECT_THROW(kernel.pack_weights(nullptr, 1, a_), LayerError);
    EXPECT_THROW(kernel.pack_weights(reinterpret_cast<const char*>(memory_) + 2, 1, a_), LayerError);
    EXPECT_THROW(Kernel().pack_weights(w_, 1), LayerError);
}

TEST_F(Packing, NothingWhereWeightsAreReadAsTheyAre) {
    const Kernel kernel = engine_.prepare(layer_, {Device::cuda(0), "direct", false, Policy::wait});
    EXPECT_EQ(kernel.info().packed_bytes, 0u);
    const std::size_t before = fake.allocations();
    kernel.pack_weights(w_, 1, a_);
    launch(kernel, w_, 0, a_);
    launch(kernel, w_, 1, a_);
    EXPECT_EQ(seen(), (std::vector<Seen>{{false, w_, nullptr}, {false, w_, nullptr}}));
    EXPECT_EQ(fake.allocations(), before);
}

TEST_F(Packing, WhatFailedIsNotTakenForDone) {
    const Kernel kernel = prepare(engine_);
    fake.fail_next("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT_THROW(launch(kernel, w_, 1, a_), DriverError);
    launch(kernel, w_, 1, a_);
    EXPECT_EQ(order(), "pm");
    fake.fail_next("cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    EXPECT_THROW(launch(kernel, other_, 1, a_), DriverError);
    launch(kernel, w_, 1, a_);
    EXPECT_EQ(order(), "pm") << "nobody knows what the buffer holds";

    fake.fail_next("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
    try {
        launch(kernel, w_, 1, b_);
        FAIL();
    } catch (const DriverError& error) {
        const std::string wanted = "allocating " + std::to_string(kernel.info().packed_bytes) + " bytes on device 0";
        EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what();
    }
    launch(kernel, w_, 1, b_);
    EXPECT_EQ(order(), "pm");
}

TEST_F(Packing, AfterTheContextIsGone) {
    const Kernel kernel = prepare(engine_);
    launch(kernel, w_, 1, a_);
    fake.reset_device(0);
    const auto says = [](const auto& call) {
        try {
            call();
        } catch (const DriverError& error) {
            EXPECT_NE(std::string(error.what()).find("prepare the kernel again"), std::string::npos) << error.what();
            return error.code();
        }
        return 0;
    };
    EXPECT_EQ(says([&] { launch(kernel, w_, 1, a_); }), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(says([&] { kernel.pack_weights(w_, 2, b_); }), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(Packing, AStreamThatHasTheHandleOfAnother) {
    const Kernel kernel = prepare(engine_);
    launch(kernel, w_, 1, a_);
    const std::size_t before = fake.allocations();
    fake.reuse_stream(static_cast<CUstream>(a_));
    (void)seen();
    launch(kernel, w_, 1, a_);
    EXPECT_EQ(order(), "pm") << "the packing of the destroyed stream may not have run yet";
    EXPECT_EQ(fake.allocations(), before) << "streams that come and go take no more memory";
}

TEST_F(Packing, ThreadsDoNotComeBetweenPackingAndLaunch) {
    const Kernel kernel = prepare(engine_);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&, w = memory_ + i] {
            for (int j = 0; j < 50; ++j) launch(kernel, w, 0, a_);
        });
    for (std::thread& thread : threads) thread.join();
    const auto launches = seen();
    ASSERT_EQ(launches.size(), 400u);
    for (std::size_t i = 0; i < launches.size(); i += 2) {
        ASSERT_TRUE(launches[i].packs && !launches[i + 1].packs) << i;
        ASSERT_EQ(launches[i].w, launches[i + 1].w) << i;
    }
}

TEST_F(Packing, ACubinThatLacksTheKernelIsCompiledAnew) {
    const sample::Scratch scratch;
    const EngineOptions options{scratch / "cache"};
    fake.lack_functions("_pack");
    {
        Engine engine(options);
        try {
            (void)prepare(engine);
            FAIL();
        } catch (const DriverError& error) {
            EXPECT_NE(std::string(error.what()).find("_pack on device 0"), std::string::npos) << error.what();
        }
    }
    fake.lack_functions("");
    const std::string key = [&] {
        Engine engine(options);
        return prepare(engine).info().key;
    }();
    const sample::Warnings warnings;
    fake.fail_next("cuModuleGetFunction", CUDA_ERROR_NOT_FOUND);
    Engine engine(options);
    const Kernel kernel = prepare(engine);
    EXPECT_EQ(kernel.info().origin, Origin::compiler);
    EXPECT_EQ(kernel.info().key, key);
    EXPECT_EQ(warnings.lines().size(), 1u);
}

class PackingInACapture : public Packing, public testing::WithParamInterface<CUstreamCaptureMode> {
protected:
    template <class Work>
    void capture(const Work& work) {
        fake.begin_capture(static_cast<CUstream>(a_), GetParam());
        work();
        EXPECT_EQ(fake.end_capture(static_cast<CUstream>(a_)), CUDA_SUCCESS) << "the capture was broken";
    }
};

TEST_P(PackingInACapture, IsRecordedAndNotTakenForDone) {
    const Kernel kernel = prepare(engine_);
    capture([&] {
        launch(kernel, w_, 1, a_);
        launch(kernel, w_, 1, a_);
    });
    const auto recorded = seen();
    ASSERT_EQ(recorded.size(), 3u) << "once in a graph";
    EXPECT_TRUE(recorded[0].packs && !recorded[1].packs && !recorded[2].packs);
    launch(kernel, w_, 1, a_);
    const auto later = seen();
    ASSERT_EQ(later.size(), 2u) << "the graph may never run";
    EXPECT_NE(later[0].packed, recorded[0].packed) << "and may run at any time";
    capture([&] { launch(kernel, other_, 1, a_); });
    const auto again = seen();
    ASSERT_EQ(again.size(), 2u);
    EXPECT_NE(again[0].packed, recorded[0].packed);
    EXPECT_NE(again[0].packed, later[0].packed);
    launch(kernel, w_, 1, a_);
    EXPECT_EQ(seen(), (std::vector<Seen>{{false, w_, later[0].packed}})) << "not disturbed by what was captured";
}

TEST_P(PackingInACapture, EachLaunchOfVersion0RecordsOne) {
    const Kernel kernel = prepare(engine_);
    launch(kernel, w_, 0, a_);
    capture([&] {
        launch(kernel, w_, 0, a_);
        launch(kernel, other_, 0, a_);
    });
    const auto launches = seen();
    ASSERT_EQ(launches.size(), 6u);
    EXPECT_TRUE(launches[2].packs && launches[4].packs);
    EXPECT_NE(launches[2].packed, launches[0].packed);
    EXPECT_EQ(launches[4].packed, launches[2].packed);
}

TEST_P(PackingInACapture, WhatIsThereIsReadAndStays) {
    const Kernel kernel = prepare(engine_);
    kernel.pack_weights(w_, 1, a_);
    const void* const packed = seen().at(0).packed;
    capture([&] { launch(kernel, w_, 1, a_); });
    EXPECT_EQ(seen(), (std::vector<Seen>{{false, w_, packed}}));
    launch(kernel, w_, 1, a_);
    EXPECT_EQ(seen(), (std::vector<Seen>{{false, w_, packed}}));
    const std::size_t before = fake.allocations();
    launch(kernel, w_, 2, a_);
    const auto later = seen();
    ASSERT_EQ(later.size(), 2u);
    EXPECT_NE(later[0].packed, packed) << "the graph still reads it";
    launch(kernel, w_, 3, a_);
    EXPECT_EQ(seen().at(0).packed, later[0].packed) << "no graph reads this one";
    EXPECT_EQ(fake.allocations(), before + 1);
}

INSTANTIATE_TEST_SUITE_P(Mode, PackingInACapture,
                         testing::Values(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED));

}  // namespace
}  // namespace convt_jit
