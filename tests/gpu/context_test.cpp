// Contexts: the caller's own, the primary one, one that is gone, and several devices.

#include "gpu/gpu.h"

namespace convt_jit::test {
namespace {

std::string run_k0(Engine& engine, const Device& device) {
    const OnDevice data(device, k0());
    engine.prepare(k0(), on(device)).launch(data.tensors(), data.shape);
    return sha16(data.y());
}

TEST(Context, CallersOwnContextIsUsed) {
    CONVT_NEEDS_GPUS(1);
    const CudaDriver& driver = CudaDriver::instance();
    Engine engine = fresh_engine();
    const Device device = Device::cuda(0);
    // The second context may come to lie at the address of the first.
    for (int round = 0; round < 3; ++round) {
        CUcontext own = nullptr, current = nullptr;
        must(driver.ctx_create(&own, 0, 0), "cuCtxCreate");
        EXPECT_EQ(run_k0(engine, device), kK0Digest) << "round " << round;
        must(driver.ctx_get_current(&current), "cuCtxGetCurrent");
        EXPECT_EQ(current, own) << "the caller's current context was changed";
        must(driver.ctx_destroy(own), "cuCtxDestroy");
    }
    must(driver.ctx_set_current(nullptr), "cuCtxSetCurrent");
    EXPECT_EQ(run_k0(engine, device), kK0Digest) << "in the primary context afterwards";
}

TEST(Context, KernelOfADestroyedContextIsRefused) {
    CONVT_NEEDS_GPUS(1);
    const CudaDriver& driver = CudaDriver::instance();
    Engine engine = fresh_engine();
    const Device device = Device::cuda(0);
    CUcontext own = nullptr;
    must(driver.ctx_create(&own, 0, 0), "cuCtxCreate");
    const Kernel kernel = engine.prepare(k0(), on(device));
    must(driver.ctx_destroy(own), "cuCtxDestroy");
    must(driver.ctx_set_current(nullptr), "cuCtxSetCurrent");
    const OnDevice data(device, k0());
    EXPECT_THROW(kernel.launch(data.tensors(), data.shape), DriverError);
    EXPECT_EQ(run_k0(engine, device), kK0Digest) << "the engine recovers";
}

TEST(Context, NoContextIsLeftCurrentWhereNoneWas) {
    CONVT_NEEDS_GPUS(1);
    const CudaDriver& driver = CudaDriver::instance();
    must(driver.ctx_set_current(nullptr), "cuCtxSetCurrent");
    Engine engine = fresh_engine();
    EXPECT_EQ(run_k0(engine, Device::cuda(0)), kK0Digest);
    CUcontext current = nullptr;
    must(driver.ctx_get_current(&current), "cuCtxGetCurrent");
    EXPECT_EQ(current, nullptr);
}

TEST(Context, MissingDeviceIsNamed) {
    try {
        (void)Device::cuda(997);
        FAIL() << "device 997 was accepted";
    } catch (const DriverError& error) {
        std::string why;
        if (Device::cuda_count(&why) > 0) {
            EXPECT_NE(std::string(error.what()).find("997"), std::string::npos) << error.what();
        }
    }
    EXPECT_THROW((void)Device::cuda(-1), Error);
}

TEST(Context, TwoDevicesServeOneEngine) {
    CONVT_NEEDS_GPUS(2);
    Engine engine = fresh_engine();
    for (int round = 0; round < 2; ++round) {
        for (int ordinal = 0; ordinal < 2; ++ordinal)
            EXPECT_EQ(run_k0(engine, Device::cuda(ordinal)), kK0Digest) << ordinal;
    }
    // With a context of the other device current.
    const CudaDriver& driver = CudaDriver::instance();
    CUcontext other = nullptr;
    must(driver.ctx_create(&other, 0, 1), "cuCtxCreate");
    EXPECT_EQ(Device::best().ordinal(), 1);
    EXPECT_EQ(run_k0(engine, Device::cuda(0)), kK0Digest);
    must(driver.ctx_destroy(other), "cuCtxDestroy");
}

// Last: a reset takes everything in the primary context with it, whoever holds it.
TEST(ContextZReset, EngineWorksAfterTheDeviceWasReset) {
    CONVT_NEEDS_GPUS(1);
    const CudaDriver& driver = CudaDriver::instance();
    const Device device = Device::cuda(0);
    Engine engine = fresh_engine();
    EXPECT_EQ(run_k0(engine, device), kK0Digest);
    must(driver.primary_reset(0), "cuDevicePrimaryCtxReset");
    std::string first;
    try {
        first = run_k0(engine, device);
    } catch (const DriverError& error) {
        engine.clear();
        first = run_k0(engine, device);
    }
    EXPECT_EQ(first, kK0Digest);
    EXPECT_EQ(run_k0(engine, device), kK0Digest);
}

}  // namespace
}  // namespace convt_jit::test
