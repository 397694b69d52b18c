// The driver room on a real driver: what it takes for granted about contexts, captures and loading.
#include "compile/nvrtc.h"
#include "convt_jit/error.h"
#include "driver/memory.h"
#include "driver/module.h"
#include "gpu/cuda_driver.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace convt_jit::driver {
namespace {

using test::CudaDriver;
using test::must;

#define CONVT_NEEDS_DEVICES(count)                                                                      \
    do {                                                                                                \
        std::string why;                                                                                \
        if (const int found = device_count(&why); found < (count))                                      \
            GTEST_SKIP() << "needs " << (count) << " CUDA devices, there are " << found << ". " << why; \
    } while (false)

struct Argument {
    unsigned* out;
    unsigned value;
};

constexpr unsigned kThreads = 64;
constexpr std::size_t kLargeShared = 64 * 1024;  // above what a kernel gets without asking, below what sm_75 allows

// Writes value + thread through the far end of its shared memory.
const std::string& cubin(int device) {
    static std::map<int, std::string> cubins;
    std::string& bytes = cubins[device_facts(device).arch];
    if (bytes.empty()) {
        Source source;
        source.entry = "kernel";
        source.text =
            "struct Argument { unsigned* out; unsigned value; };\n"
            "extern \"C\" __global__ void kernel(Argument a) {\n"
            "  extern __shared__ unsigned shared[];\n"
            "  unsigned bytes; asm(\"mov.u32 %0, %dynamic_smem_size;\" : \"=r\"(bytes));\n"
            "  unsigned* const last = shared + bytes / 4 - blockDim.x;\n"
            "  last[threadIdx.x] = a.value + threadIdx.x;\n"
            "  __syncthreads();\n"
            "  a.out[threadIdx.x] = last[threadIdx.x];\n"
            "}\n";
        bytes = Nvrtc::instance().compile(source, {device_facts(device).arch, 0}).bytes;
    }
    return bytes;
}

std::unique_ptr<Module> load(const Context& context, std::size_t shared_bytes = kThreads * 4) {
    return std::make_unique<Module>(context, cubin(context.device), "kernel", shared_bytes);
}

void launch(const Module& module, const DeviceMemory& out, unsigned value, CUstream stream = nullptr,
            std::size_t shared_bytes = kThreads * 4) {
    constexpr std::uint32_t grid[3] = {1, 1, 1};
    const Argument argument{static_cast<unsigned*>(out.data()), value};
    module.launch(grid, kThreads, shared_bytes, stream, &argument);
}

// The kernel runs in the context that is chosen now, and gives the right numbers.
void expect_works(int device, std::size_t shared_bytes = kThreads * 4) {
    const auto module = load(context_for(device), shared_bytes);
    const DeviceMemory out(device, kThreads * sizeof(unsigned));
    out.fill(0xff, kThreads * sizeof(unsigned));
    launch(*module, out, 1000, nullptr, shared_bytes);
    std::vector<unsigned> values(kThreads);
    out.download(values.data(), kThreads * sizeof(unsigned));
    for (unsigned i = 0; i < kThreads; ++i) ASSERT_EQ(values[i], 1000 + i);
}

class GpuDriver : public testing::Test {
protected:
    void SetUp() override {
        CONVT_NEEDS_DEVICES(1);
        cuda = &CudaDriver::instance();
        must(cuda->ctx_set_current(nullptr), "cuCtxSetCurrent");
    }
    void TearDown() override {
        if (cuda != nullptr) cuda->ctx_set_current(nullptr);
    }
    [[nodiscard]] CUcontext current() const {
        CUcontext context = nullptr;
        must(cuda->ctx_get_current(&context), "cuCtxGetCurrent");
        return context;
    }
    const CudaDriver* cuda = nullptr;
};

TEST_F(GpuDriver, Facts) {
    const DeviceFacts& facts = device_facts(0);
    EXPECT_FALSE(facts.name.empty());
    EXPECT_GE(facts.arch, 50);
    EXPECT_GT(facts.multiprocessors, 0);
    EXPECT_GT(facts.l2_bytes, 0u);
    EXPECT_GE(facts.shared_bytes_per_block, 48u * 1024);
    EXPECT_GE(std::stoi(driver_version()), 11);
}

TEST_F(GpuDriver, PrimaryContextWhereNoneIsCurrent) {
    const Context context = context_for(0);
    CUcontext primary = nullptr;
    must(cuda->primary_retain(&primary, 0), "cuDevicePrimaryCtxRetain");
    EXPECT_EQ(context.handle, primary);
    must(cuda->primary_release(0), "cuDevicePrimaryCtxRelease");
    EXPECT_EQ(context_for(0), context);
    expect_works(0);
    EXPECT_EQ(current(), nullptr);
    EXPECT_EQ(current_device(), -1);
}

TEST_F(GpuDriver, AliveIsToldWithoutACurrentContextAndOnAnyThread) {
    const Context context = context_for(0);
    ASSERT_EQ(current(), nullptr);
    EXPECT_TRUE(alive(context));
    bool seen = false;
    std::thread([&] { seen = alive(context); }).join();
    EXPECT_TRUE(seen);
}

TEST_F(GpuDriver, OwnContextsAreToldApartAlsoAtOneAddress) {
    std::vector<Context> gone;
    for (int round = 0; round < 4; ++round) {
        CUcontext own = nullptr;
        must(cuda->ctx_create(&own, 0, 0), "cuCtxCreate");
        const Context context = context_for(0);
        EXPECT_EQ(context.handle, own);
        EXPECT_EQ(current_device(), 0);
        expect_works(0);
        EXPECT_EQ(current(), own);
        EXPECT_TRUE(alive(context));
        for (const Context& old : gone) EXPECT_FALSE(alive(old)) << (old.handle == own ? "same address" : "");
        must(cuda->ctx_destroy(own), "cuCtxDestroy");
        EXPECT_FALSE(alive(context));
        gone.push_back(context);
    }
    expect_works(0);
}

TEST_F(GpuDriver, ContextDestroyedWhileCurrentElsewhere) {
    CUcontext own = nullptr;
    must(cuda->ctx_create(&own, 0, 0), "cuCtxCreate");
    const Context context = context_for(0);
    const auto module = load(context);
    std::thread([&] { must(cuda->ctx_destroy(own), "cuCtxDestroy"); }).join();
    EXPECT_FALSE(alive(context));
    const Context next = context_for(0);
    EXPECT_NE(next.id, context.id);
    expect_works(0);
}

TEST_F(GpuDriver, LaunchWithAnotherContextCurrent) {
    const auto module = load(context_for(0));
    const DeviceMemory out(0, kThreads * sizeof(unsigned));
    CUcontext own = nullptr;
    must(cuda->ctx_create(&own, 0, 0), "cuCtxCreate");
    launch(*module, out, 5);
    EXPECT_EQ(current(), own);
    std::vector<unsigned> values(kThreads);
    out.download(values.data(), kThreads * sizeof(unsigned));
    EXPECT_EQ(values[0], 5u);
    must(cuda->ctx_destroy(own), "cuCtxDestroy");
}

TEST_F(GpuDriver, SharedMemoryAboveTheDefault) {
    expect_works(0, kLargeShared);
    EXPECT_THROW((void)load(context_for(0), device_facts(0).shared_bytes_per_block + 4), DriverError);
}

TEST_F(GpuDriver, FirstLaunchAllocatesNothing) {
    const Context context = context_for(0);
    const auto module = load(context);
    const DeviceMemory out(0, kThreads * sizeof(unsigned));
    const Current scope(context);
    const auto free_bytes = [&] {
        std::size_t free = 0, total = 0;
        must(cuda->mem_get_info(&free, &total), "cuMemGetInfo");
        return free;
    };
    must(cuda->ctx_synchronize(), "cuCtxSynchronize");
    const std::size_t before = free_bytes();
    launch(*module, out, 1);
    must(cuda->ctx_synchronize(), "cuCtxSynchronize");
    EXPECT_EQ(free_bytes(), before);
}

TEST_F(GpuDriver, WhatDoesNotLoad) {
    const Context context = context_for(0);
    EXPECT_THROW((void)Module(context, cubin(0), "no_such_kernel", 0), DriverError);
    EXPECT_THROW((void)Module(context, std::string_view(cubin(0)).substr(0, cubin(0).size() / 2), "kernel", 0),
                 DriverError);
    // A cubin of another generation.
    Source source;
    source.entry = "kernel";
    source.text = "extern \"C\" __global__ void kernel() {}\n";
    const Arch other{device_facts(0).arch / 10 == 9 ? 80 : 90, 0};
    try {
        const Module module(context, Nvrtc::instance().compile(source, other).bytes, "kernel", 0);
        FAIL() << "loaded a cubin for " << to_string(other);
    } catch (const DriverError& error) {
        EXPECT_EQ(error.call(), "cuModuleLoadData") << error.what();
        EXPECT_NE(std::string(error.what()).find("driver " + driver_version()), std::string::npos) << error.what();
    }
    expect_works(0);
}

TEST_F(GpuDriver, CopiesWaitForWorkOnAnyStream) {
    const auto module = load(context_for(0));
    const OwnStream stream(0);
    const DeviceMemory out(0, kThreads * sizeof(unsigned));
    std::vector<unsigned> values(kThreads);
    for (unsigned round = 0; round < 200; ++round) {
        out.fill(0, kThreads * sizeof(unsigned));
        launch(*module, out, round, stream.handle());
        out.download(values.data(), kThreads * sizeof(unsigned));
        ASSERT_EQ(values.back(), round + kThreads - 1);
    }
}

TEST_F(GpuDriver, EventsMeasure) {
    const auto module = load(context_for(0));
    const OwnStream stream(0);
    const DeviceMemory out(0, kThreads * sizeof(unsigned));
    EventPair events(0);
    events.start(stream.handle());
    for (int i = 0; i < 100; ++i) launch(*module, out, 1, stream.handle());
    events.stop(stream.handle());
    EXPECT_GT(events.milliseconds(), 0);
    EXPECT_LT(events.milliseconds(), 10000);
}

TEST_F(GpuDriver, ForkedChildIsRefused) {
    const Context context = context_for(0);
    const pid_t child = fork();
    if (child == 0) {
        bool refused = false;
        try {
            (void)context_for(0);
        } catch (const DriverError& error) {
            refused = error.call() == "fork";
        }
        _exit(refused && !alive(context) && device_count(nullptr) == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    expect_works(0);
}

class GpuCapture : public GpuDriver, public testing::WithParamInterface<CUstreamCaptureMode> {
protected:
    void begin(CUstream stream) const { must(cuda->begin_capture(stream, GetParam()), "cuStreamBeginCapture"); }
    // The capture is whole, and its graph runs.
    void expect_whole(CUstream stream) const {
        CUgraph graph = nullptr;
        ASSERT_EQ(cuda->end_capture(stream, &graph), CUDA_SUCCESS) << "the capture was broken";
        CUgraphExec exec = nullptr;
        must(cuda->graph_instantiate(&exec, graph, 0), "cuGraphInstantiate");
        must(cuda->graph_launch(exec, stream), "cuGraphLaunch");
        must(cuda->ctx_synchronize(), "cuCtxSynchronize");
        cuda->graph_exec_destroy(exec);
        cuda->graph_destroy(graph);
    }
};

TEST_P(GpuCapture, LoadingAndUnloadingInsideLeavesItWhole) {
    const Context context = context_for(0);
    const Current scope(context);
    (void)cubin(0);
    const OwnStream stream(0);
    const DeviceMemory out(0, kThreads * sizeof(unsigned));
    auto kept = load(context);
    begin(stream.handle());
    EXPECT_TRUE(alive(context));
    auto module = load(context, kLargeShared);
    load(context).reset();
    launch(*module, out, 9, stream.handle(), kLargeShared);
    launch(*kept, out, 11, stream.handle());
    expect_whole(stream.handle());
    std::vector<unsigned> values(kThreads);
    out.download(values.data(), kThreads * sizeof(unsigned));
    EXPECT_EQ(values[0], 11u);
}

TEST_P(GpuCapture, LoadingInAnotherThreadLeavesItWhole) {
    const Context context = context_for(0);
    const Current scope(context);
    (void)cubin(0);
    const OwnStream stream(0);
    begin(stream.handle());
    std::thread([&] { load(context).reset(); }).join();
    expect_whole(stream.handle());
}

TEST_P(GpuCapture, NewContextInsideLeavesItWhole) {
    const Context context = context_for(0);
    const Current scope(context);
    (void)cubin(0);
    const OwnStream stream(0);
    CUcontext own = nullptr;
    must(cuda->ctx_create(&own, 0, 0), "cuCtxCreate");
    begin(stream.handle());
    EXPECT_EQ(context_for(0).handle, own);
    must(cuda->ctx_set_current(context.handle), "cuCtxSetCurrent");
    expect_whole(stream.handle());
    must(cuda->ctx_destroy(own), "cuCtxDestroy");
    must(cuda->ctx_set_current(context.handle), "cuCtxSetCurrent");
}

TEST_P(GpuCapture, CapturingIsToldWithoutHarm) {
    const Context context = context_for(0);
    const Current scope(context);
    const OwnStream stream(0);
    const OwnStream other(0);
    EXPECT_FALSE(capturing(stream.handle()));
    begin(stream.handle());
    EXPECT_TRUE(capturing(stream.handle()));
    EXPECT_FALSE(capturing(other.handle()));
    EXPECT_FALSE(capturing(nullptr)) << "a non-blocking stream cannot be seen";
    expect_whole(stream.handle());
    EXPECT_FALSE(capturing(stream.handle()));
}

INSTANTIATE_TEST_SUITE_P(Mode, GpuCapture,
                         testing::Values(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED));

TEST_F(GpuDriver, TwoDevices) {
    CONVT_NEEDS_DEVICES(2);
    const auto zero = load(context_for(0));
    const auto one = load(context_for(1));
    const DeviceMemory out0(0, kThreads * sizeof(unsigned)), out1(1, kThreads * sizeof(unsigned));
    launch(*one, out1, 21);
    launch(*zero, out0, 20);
    std::vector<unsigned> values(kThreads);
    out0.download(values.data(), kThreads * sizeof(unsigned));
    EXPECT_EQ(values[0], 20u);
    out1.download(values.data(), kThreads * sizeof(unsigned));
    EXPECT_EQ(values[0], 21u);
    const Current scope(context_for(1));
    EXPECT_EQ(current_device(), 1);
    expect_works(0);
}

// A reset takes everything in the primary context with it; what comes after must work all the same.
class GpuReset : public GpuDriver {};

TEST_F(GpuReset, PrimaryContextThatIsNotCurrent) {
    const Context first = context_for(0);
    const auto module = load(first);
    must(cuda->primary_reset(0), "cuDevicePrimaryCtxReset");
    EXPECT_FALSE(alive(first));
    expect_works(0);
    EXPECT_FALSE(alive(first)) << "also once the primary context is back";
    const DeviceMemory out(0, kThreads * sizeof(unsigned));
    EXPECT_THROW(launch(*module, out, 1), DriverError);
}

TEST_F(GpuReset, PrimaryContextThatIsCurrent) {
    const Context first = context_for(0);
    must(cuda->ctx_set_current(first.handle), "cuCtxSetCurrent");
    must(cuda->primary_reset(0), "cuDevicePrimaryCtxReset");
    EXPECT_FALSE(alive(first));
    expect_works(0);
}

}  // namespace
}  // namespace convt_jit::driver
