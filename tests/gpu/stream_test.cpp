// Launches keep the order of the caller's stream, and give the same bits every time.

#include "conformance/check.h"
#include "gpu/gpu.h"

#include <chrono>
#include <thread>

namespace convt_jit::test {
namespace {

void CUDA_CB sleep_a_little(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

TEST(Stream, LaunchWaitsForWhatTheCallerQueuedBefore) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    const Layer layer = parse_layer("n64 c4 o4 in64x64 k4x4 s2 p1");
    Engine engine = fresh_engine();
    const Kernel kernel = engine.prepare(layer, on(device));
    const OnDevice data(device, layer);
    const Stream stream(device);
    const CudaDriver& driver = CudaDriver::instance();
    auto* cu_stream = static_cast<CUstream>(stream.handle());

    const auto want = reference(layer, data.shape, data.host);
    CUcontext primary = nullptr;  // as an application has it
    must(driver.primary_retain(&primary, device.ordinal()), "cuDevicePrimaryCtxRetain");
    must(driver.ctx_set_current(primary), "cuCtxSetCurrent");
    PinnedFloats x(data.host.x.size()), y(want.size());
    for (int round = 0; round < 100; ++round) {
        // Integers times a power of two: exact, and another result each round.
        const double factor = std::ldexp(1.0, round % 13 - 6);
        std::vector<double> scaled = data.host.x;
        for (double& value : scaled) value *= factor;
        x.set(scaled);
        must(driver.launch_host_func(cu_stream, sleep_a_little, nullptr), "cuLaunchHostFunc");
        must(driver.memcpy_to_device_async(address(data.tensors().x), x.data(), scaled.size() * sizeof(float),
                                           cu_stream),
             "copy");
        kernel.launch(data.tensors(), data.shape, stream.handle());
        must(driver.memcpy_to_host_async(y.data(), address(data.tensors().y), want.size() * sizeof(float), cu_stream),
             "copy");
        stream.synchronize();
        const auto got = y.values();
        for (std::size_t i = 0; i < want.size(); ++i)
            ASSERT_EQ(got[i], want[i] * factor) << "round " << round << ", y[" << i << "]";
    }
}

TEST(Stream, TwoStreamsDoNotDisturbEachOther) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    Engine engine = fresh_engine();
    const OnDevice one(device, parse_layer("n16 c4 o4 in64x64 k4x4 s2 p1")),
        two(device, parse_layer("n16 c6 o3 in50x40 k3x5 s3x2 p1"));
    const Kernel first = engine.prepare(one.layer, on(device)), second = engine.prepare(two.layer, on(device));
    const Stream a(device), b(device);
    for (int round = 0; round < 50; ++round) {
        first.launch(one.tensors(), one.shape, a.handle());
        second.launch(two.tensors(), two.shape, b.handle());
    }
    a.synchronize();
    b.synchronize();
    EXPECT_EQ(one.y(), reference(one.layer, one.shape, one.host));
    EXPECT_EQ(two.y(), reference(two.layer, two.shape, two.host));
}

// One kernel that packs its weights, on two streams at a time with weights of their own, which change in place.
void expect_packed_weights_of_the_launch(const char* plan) {
    const Device device = Device::cuda(0);
    const CudaDriver& driver = CudaDriver::instance();
    Engine engine = fresh_engine();
    const Layer layer = parse_layer("n8 c32 o48 in40x64 k4x4 s2 p1");
    PrepareOptions options = on(device);
    options.plan = plan;
    const Kernel kernel = engine.prepare(layer, options);
    EXPECT_GT(kernel.info().packed_bytes, 0u);
    const OnDevice one(device, layer), two(device, layer);
    const Stream a(device), b(device);
    const auto want = reference(layer, one.shape, one.host);
    CUcontext primary = nullptr;  // as an application has it
    must(driver.primary_retain(&primary, device.ordinal()), "cuDevicePrimaryCtxRetain");
    must(driver.ctx_set_current(primary), "cuCtxSetCurrent");
    PinnedFloats plain(one.host.w.size()), scaled(one.host.w.size());
    plain.set(one.host.w);
    std::vector<double> values = one.host.w;
    for (double& value : values) value *= 4;
    scaled.set(values);
    for (int round = 0; round < 50; ++round)
        for (const auto& [data, stream, w] : {std::tuple{&one, &a, &plain}, std::tuple{&two, &b, &scaled}}) {
            // Other weights lie there in between: a packing that comes early or late is seen.
            const PinnedFloats* const other = w == &plain ? &scaled : &plain;
            const auto put = [&](const PinnedFloats* from) {
                must(driver.memcpy_to_device_async(address(data->tensors().w), from->data(),
                                                   values.size() * sizeof(float),
                                                   static_cast<CUstream>(stream->handle())),
                     "copy");
            };
            put(w);
            kernel.launch(data->tensors(), data->shape, stream->handle());
            put(other);
        }
    a.synchronize();
    b.synchronize();
    auto fourfold = want;
    for (double& value : fourfold) value *= 4;
    EXPECT_EQ(one.y(), want);
    EXPECT_EQ(two.y(), fourfold);
}

TEST(Stream, PackedWeightsAreThoseOfTheLaunch) {
    CONVT_NEEDS_GPUS(1);
    CONVT_NEEDS_TENSOR_CORES();
    expect_packed_weights_of_the_launch("implicit_gemm");
}

TEST(Stream, PackedWeightsOfWarpgroupsAreThoseOfTheLaunch) {
    CONVT_NEEDS_GPUS(1);
    CONVT_NEEDS_WARPGROUPS();
    expect_packed_weights_of_the_launch("implicit_gemm_sm90");
    expect_packed_weights_of_the_launch(
        "implicit_gemm_sm90 positions=2x32 groups_m=1 groups_n=1 teams=2 loaders=1 chunk=8 stages=2 min_blocks=1 "
        "resident=1 processors=6");
}

TEST(Stream, RunsAreBitIdentical) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    Engine engine = fresh_engine();
    for (const char* text : {"n4 c48 o24 in33x65 k3x5 s2x3 p1x2 bias", "n4 c48 o24 in33x65 k3x5 s2x3 p1x2 f16",
                             "n2 c32 o16 in9x17x15 k3 s2 p1 op1 bf16 nhwc", "n8 c64 o64 in1000 k8 s4 p2 tf32"}) {
        const Layer layer = parse_layer(text);
        const Shape shape = known_shape(layer);
        const HostTensors tensors = random_tensors(layer, shape, 3);
        const auto first = run(engine, device, layer, shape, tensors);
        for (int again = 0; again < 5; ++again) EXPECT_EQ(run(engine, device, layer, shape, tensors), first) << text;
    }
}

void expect_bit_identical_runs_on_tensor_cores(const char* plan) {
    const Device device = Device::cuda(0);
    Engine engine = fresh_engine();
    for (const char* type : {"", " tf32", " f16", " bf16"}) {
        const Layer layer = parse_layer(std::string("n1 c256 o72 in33x17 k4x4 s2 p1 bias gelu") + type);
        const Shape shape = known_shape(layer);
        const HostTensors tensors = random_tensors(layer, shape, 3);
        RunOptions options;
        options.prepare.plan = plan;
        const auto first = run(engine, device, layer, shape, tensors, options);
        EXPECT_EQ(differences(layer, first, reference(layer, shape, tensors)), "") << type;
        for (int again = 0; again < 5; ++again)
            EXPECT_EQ(run(engine, device, layer, shape, tensors, options), first) << type;
    }
}

TEST(Stream, RunsOnTensorCoresAreBitIdentical) {
    CONVT_NEEDS_GPUS(1);
    CONVT_NEEDS_TENSOR_CORES();
    expect_bit_identical_runs_on_tensor_cores("implicit_gemm chunk=16 stages=2 split=8");
}

TEST(Stream, RunsOnWarpgroupsAreBitIdentical) {
    CONVT_NEEDS_GPUS(1);
    CONVT_NEEDS_WARPGROUPS();
    expect_bit_identical_runs_on_tensor_cores("implicit_gemm_sm90");
    expect_bit_identical_runs_on_tensor_cores(
        "implicit_gemm_sm90 positions=2x24 groups_m=1 groups_n=1 teams=2 loaders=1 chunk=16 stages=2 min_blocks=1 "
        "resident=0 processors=3");
}

}  // namespace
}  // namespace convt_jit::test
