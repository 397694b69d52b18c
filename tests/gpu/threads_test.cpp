// Many threads: one kernel is compiled once, and every thread gets a working one.

#include "gpu/gpu.h"

#include <algorithm>
#include <barrier>
#include <random>
#include <thread>

namespace convt_jit::test {
namespace {

constexpr int kThreads = 16;

// The layers K0 to K3 of the public trials.
const char* const kLayers[] = {"n1 c4 o4 in8x8 k4x4 s2 p1", "n1 c4 o4 in8x8 k3x3 s2 p1 op1",
                               "n1 c4 o4 in8x8 k2x2 s2 g4", "n1 c4 o6 in16 k8 s4 p2 g2"};

template <class Work>
void together(const Work& work) {
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            start.arrive_and_wait();
            work(i);
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST(Threads, OneKernelIsCompiledOnce) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    Engine engine = fresh_engine();
    std::vector<Origin> origins(kThreads, Origin::disk);
    std::vector<std::string> digests(kThreads);
    together([&](int i) {
        const auto at = static_cast<std::size_t>(i);
        const OnDevice data(device, k0());
        const Kernel kernel = engine.prepare(k0(), on(device));
        origins[at] = kernel.info().origin;
        const Stream stream(device);
        kernel.launch(data.tensors(), data.shape, stream.handle());
        stream.synchronize();
        digests[at] = sha16(data.y());
    });
    EXPECT_EQ(std::count(origins.begin(), origins.end(), Origin::compiler), 1);
    EXPECT_EQ(std::count(origins.begin(), origins.end(), Origin::memory), kThreads - 1);
    EXPECT_EQ(std::count(digests.begin(), digests.end(), kK0Digest), kThreads);
}

TEST(Threads, SeveralKernelsInAnyOrder) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    for (int round = 0; round < 5; ++round) {
        Engine engine = fresh_engine();
        std::atomic<int> compiled{0}, wrong{0};
        together([&](int i) {
            std::vector<std::string> order(std::begin(kLayers), std::end(kLayers));
            std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(i)));
            for (const std::string& text : order) {
                const OnDevice data(device, parse_layer(text));
                const Kernel kernel = engine.prepare(data.layer, on(device));
                compiled += kernel.info().origin == Origin::compiler;
                kernel.launch(data.tensors(), data.shape);
                wrong += data.y() != reference(data.layer, data.shape, data.host);
            }
        });
        EXPECT_EQ(compiled, 4);
        EXPECT_EQ(wrong, 0);
    }
}

TEST(Threads, OneKernelIsLaunchedByAll) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    Engine engine = fresh_engine();
    const Kernel kernel = engine.prepare(k0(), on(device));
    std::atomic<int> wrong{0};
    together([&](int) {
        const OnDevice data(device, k0());
        const Stream stream(device);
        for (int again = 0; again < 50; ++again) {
            data.poison();
            kernel.launch(data.tensors(), data.shape, stream.handle());
            stream.synchronize();
            wrong += sha16(data.y()) != kK0Digest;
        }
    });
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace convt_jit::test
