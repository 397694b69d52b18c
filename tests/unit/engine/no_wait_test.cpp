// Policy::no_wait: a generic kernel at once, the one that was asked for as soon as it is compiled. On the simulator.
#include "convt_jit/convt_jit.h"
#include "unit/cache/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace convt_jit {
namespace {

using namespace std::chrono_literals;

const PrepareOptions kOnSimulator{Device::simulator(), "", false, Policy::wait};

EngineOptions no_disk() {
    EngineOptions options;
    options.cache_dir = "";
    return options;
}

void wait_for(const Kernel& kernel) {
    for (int i = 0; i < 60'000 && kernel.pending(); ++i) std::this_thread::sleep_for(1ms);
    ASSERT_FALSE(kernel.pending());
}

double error_of(const Kernel& kernel, const Layer& layer) {
    const Shape shape = known_shape(layer);
    const HostTensors host = random_tensors(layer, shape, 1);
    const auto x = encode(layer.dtype, host.x), w = encode(layer.dtype, host.w);
    std::vector<unsigned char> y(static_cast<std::size_t>(sizes(layer, shape).y) * size_of(layer.dtype));
    Tensors tensors;
    tensors.x = x.data(), tensors.w = w.data(), tensors.y = y.data();
    kernel.launch(tensors, shape);
    return compare(decode(layer.dtype, y), reference(layer, shape, host), layer.dtype).rel_l2;
}

TEST(NoWait, AGenericKernelServesUntilTheOtherIsThere) {
    Engine engine(no_disk());
    const Layer layer = parse_layer("n2 c4 o6 in5x6 k3x4 s2x3 g2 f32");
    const std::string wanted = Engine::render(layer, "sm_90").plan;
    const Kernel kernel = engine.prepare(layer, kOnSimulator, Policy::no_wait);
    const Kernel copy = kernel;
    const KernelInfo& first = kernel.info();
    EXPECT_LE(error_of(kernel, layer), tolerance(layer));
    EXPECT_EQ(first.family, "direct");
    EXPECT_NE(kernel.source(), "");

    wait_for(kernel);
    EXPECT_EQ(kernel.info().plan, wanted);
    EXPECT_EQ(kernel.info().origin, Origin::compiler);
    EXPECT_EQ(copy.info().plan, wanted) << "a copy is the same kernel";
    EXPECT_NE(first.plan, wanted) << "a reference to the old one stays valid";
    EXPECT_LE(error_of(kernel, layer), tolerance(layer));

    const Kernel later = engine.prepare(layer, kOnSimulator, Policy::no_wait);
    EXPECT_FALSE(later.pending());
    EXPECT_EQ(later.info().plan, wanted);
    EXPECT_EQ(later.info().origin, Origin::memory);
    EXPECT_EQ(engine.prepare(layer, kOnSimulator).info().origin, Origin::memory) << "compiled once";
}

TEST(NoWait, WhatIsInMemoryComesAtOnce) {
    Engine engine(no_disk());
    const Layer layer = parse_layer("n1 c2 o2 in4 k3 s2");
    const Kernel first = engine.prepare(layer, kOnSimulator);
    const Kernel kernel = engine.prepare(layer, kOnSimulator, Policy::no_wait);
    EXPECT_FALSE(kernel.pending());
    EXPECT_EQ(kernel.info().plan, first.info().plan);
    EXPECT_EQ(kernel.info().origin, Origin::memory);
}

TEST(NoWait, APlanThatIsGenericItselfIsCompiledOnce) {
    Engine engine(no_disk());
    const Layer layer = parse_layer("n1 c2 o2 in4 k3 s3");
    PrepareOptions options = kOnSimulator;
    options.plan = engine.prepare(layer, kOnSimulator, Policy::no_wait).info().plan;
    const Kernel kernel = engine.prepare(layer, options, Policy::no_wait);
    EXPECT_FALSE(kernel.pending());
    options.plan = "reference";
    const Kernel reference = engine.prepare(layer, options, Policy::no_wait);
    EXPECT_FALSE(reference.pending()) << "its y is of another type: nothing can stand in";
    EXPECT_EQ(reference.info().family, "reference");
}

TEST(NoWait, AFailureIsToldOnceAndNotRepeated) {
    const sample::Scratch scratch;
    const std::string compiler = scratch / "once";
    std::ofstream(compiler) << "#!/bin/sh\necho x >> " << scratch / "calls"
                            << "\n[ $(wc -l < " << scratch / "calls"
                            << ") -gt 1 ] && exit 1\nexec c++ \"$@\"\n";
    std::filesystem::permissions(compiler, std::filesystem::perms::owner_all);
    const sample::Variable cxx("CXX", compiler);
    const auto calls = [&] {
        std::ifstream file(scratch / "calls");
        return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
    };

    sample::Warnings warnings;
    Engine engine(no_disk());
    const Layer layer = parse_layer("n1 c3 o3 in5 k4 s2");
    const Kernel kernel = engine.prepare(layer, kOnSimulator, Policy::no_wait);
    const std::string plan = kernel.info().plan;
    wait_for(kernel);
    EXPECT_EQ(kernel.info().plan, plan);
    EXPECT_LE(error_of(kernel, layer), tolerance(layer));
    for (int i = 0; i < 3; ++i) {
        const Kernel again = engine.prepare(layer, kOnSimulator, Policy::no_wait);
        EXPECT_FALSE(again.pending());
        EXPECT_EQ(again.info().plan, plan);
    }
    EXPECT_EQ(calls(), 2);
    ASSERT_EQ(warnings.lines().size(), 1u);
    EXPECT_NE(warnings.lines()[0].find("n1 c3 o3 in5 k4 s2"), std::string::npos) << warnings.lines()[0];
    EXPECT_THROW((void)engine.prepare(layer, kOnSimulator), CompileError) << "who waits is told";
    EXPECT_EQ(calls(), 3);
    engine.clear();
}

TEST(NoWait, ThreadsAreJoinedWithTheEngine) {
    std::vector<Kernel> kernels;
    {
        Engine engine(no_disk());
        for (const char* text : {"c2 o3 in4 k5 s2", "c2 o3 in4 k6 s2", "c2 o3 in4 k7 s2"})
            kernels.push_back(engine.prepare(parse_layer(text), kOnSimulator, Policy::no_wait));
    }
    for (const Kernel& kernel : kernels) EXPECT_FALSE(kernel.pending()) << "done or given up";
    EXPECT_EQ(kernels[0].layer(), parse_layer("c2 o3 k5 s2"));
}

TEST(NoWait, ThreadsLaunchWhileTheKernelIsReplaced) {
    Engine engine(no_disk());
    const Layer layer = parse_layer("n1 c2 o2 in4x4 k3x3 s2x2");
    const Kernel kernel = engine.prepare(layer, kOnSimulator, Policy::no_wait);
    const std::string wanted = Engine::render(layer, "sm_90").plan;
    std::atomic<bool> go_on{true};
    std::vector<std::thread> threads;
    std::vector<std::string> last(4);
    for (auto& plan : last)
        threads.emplace_back([&] {
            do {
                kernel.launch({}, {0, {4, 4}});  // validates and looks for the successor, as all launches do
                plan = kernel.info().plan;
            } while (go_on);
            plan = kernel.info().plan;
            static_cast<void>(engine.prepare(layer, kOnSimulator, Policy::no_wait));
        });
    wait_for(kernel);
    go_on = false;
    for (auto& thread : threads) thread.join();
    for (const auto& plan : last) EXPECT_EQ(plan, wanted);
}

}  // namespace
}  // namespace convt_jit
