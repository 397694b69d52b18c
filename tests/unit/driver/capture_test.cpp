#include "driver/capture.h"

#include "convt_jit/error.h"
#include "driver/api.h"
#include "driver/module.h"
#include "unit/driver/fake.h"

#include <memory>
#include <thread>

namespace convt_jit::driver {
namespace {

class CaptureTest : public test::FakeDriver, public testing::WithParamInterface<CUstreamCaptureMode> {
protected:
    CUstream stream = reinterpret_cast<CUstream>(0x7777);
};

TEST_P(CaptureTest, LoadingLeavesTheCaptureWhole) {
    const Context context = context_for(0);
    fake.begin_capture(stream, GetParam());
    auto module = std::make_unique<Module>(context, test::empty_cubin(), "kernel", 0);
    constexpr std::uint32_t grid[3] = {1, 1, 1};
    constexpr char argument[16] = {};
    module->launch(grid, 32, 0, stream, argument);
    module.reset();
    EXPECT_EQ(fake.end_capture(stream), CUDA_SUCCESS);
    EXPECT_EQ(fake.take_launches().size(), 1u);
}

TEST_P(CaptureTest, FirstUseOfADeviceLeavesTheCaptureWhole) {
    fake.begin_capture(stream, GetParam());
    EXPECT_TRUE(alive(context_for(1)));
    EXPECT_EQ(fake.end_capture(stream), CUDA_SUCCESS);
}

TEST_P(CaptureTest, LoadingInAnotherThreadLeavesTheCaptureWhole) {
    const Context context = context_for(0);
    fake.begin_capture(stream, GetParam());
    std::thread([&] { const Module module(context, test::empty_cubin(), "kernel", 0); }).join();
    EXPECT_EQ(fake.end_capture(stream), CUDA_SUCCESS);
}

TEST_P(CaptureTest, CapturingIsTold) {
    (void)context_for(0);
    EXPECT_FALSE(capturing(stream));
    EXPECT_FALSE(capturing(nullptr));
    fake.begin_capture(stream, GetParam());
    EXPECT_TRUE(capturing(stream));
    EXPECT_TRUE(capturing(nullptr)) << "the default stream would have to wait for the captured one";
    EXPECT_FALSE(capturing(reinterpret_cast<CUstream>(0x8888)));
    EXPECT_EQ(fake.end_capture(stream), CUDA_SUCCESS);
    EXPECT_FALSE(capturing(nullptr));
}

TEST_P(CaptureTest, StreamsAndCapturesAreToldApart) {
    const Module module(context_for(0), test::empty_cubin(), "kernel", 0);
    const StreamState before = module.state_of(stream);
    EXPECT_EQ(before.name, stream);
    EXPECT_EQ(before.capture, 0u);
    fake.begin_capture(stream, GetParam());
    const std::uint64_t first = module.state_of(stream).capture;
    EXPECT_NE(first, 0u);
    EXPECT_EQ(module.state_of(reinterpret_cast<CUstream>(0x8888)).capture, 0u);
    EXPECT_EQ(fake.end_capture(stream), CUDA_SUCCESS);
    EXPECT_EQ(module.state_of(stream).capture, 0u);
    fake.begin_capture(stream, GetParam());
    EXPECT_NE(module.state_of(stream).capture, first);
    EXPECT_EQ(fake.end_capture(stream), CUDA_SUCCESS);

    EXPECT_EQ(module.state_of(stream).id, before.id);
    fake.reuse_stream(stream);
    EXPECT_NE(module.state_of(stream).id, before.id);

    const void* other = nullptr;
    const void* mine = module.state_of(CU_STREAM_PER_THREAD).name;
    std::thread([&] { other = module.state_of(CU_STREAM_PER_THREAD).name; }).join();
    EXPECT_NE(mine, other) << "each thread has its own stream of that handle";
    fake.reset_device(0);
    EXPECT_THROW((void)module.state_of(stream), DriverError);
}

TEST_P(CaptureTest, ModeOfTheThreadIsRestored) {
    CUstreamCaptureMode mode = GetParam();
    (void)api().exchange_capture_mode(&mode);
    const CUstreamCaptureMode before = mode;
    {
        const RelaxedCapture outer;
        const RelaxedCapture inner;
    }
    mode = before;
    (void)api().exchange_capture_mode(&mode);
    EXPECT_EQ(mode, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Mode, CaptureTest,
                         testing::Values(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED));

// That the fake does break captures where nobody guards them, or the tests above would mean nothing.
class FakeCapture : public test::FakeDriver {};

TEST_F(FakeCapture, UnguardedLoadBreaksIt) {
    auto* const stream = reinterpret_cast<CUstream>(0x7777);
    const Current current(context_for(0));
    fake.begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CUmodule module = nullptr;
    EXPECT_EQ(api().module_load(&module, test::empty_cubin().data()), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(fake.end_capture(stream), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

}  // namespace
}  // namespace convt_jit::driver
