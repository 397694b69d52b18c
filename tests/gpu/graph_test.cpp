// CUDA graphs: launches of a prepared kernel can be captured; preparing inside a capture is told clearly.

#include "gpu/gpu.h"

namespace convt_jit::test {
namespace {

class Graph : public testing::TestWithParam<CUstreamCaptureMode> {};

std::vector<double> doubled(std::vector<double> values) {
    for (double& value : values) value *= 2;
    return values;
}

TEST_P(Graph, PreparedKernelIsCapturedAndReplayed) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    const CudaDriver& driver = CudaDriver::instance();
    Engine engine = fresh_engine();
    const Kernel kernel = engine.prepare(k0(), on(device));
    const OnDevice data(device, k0());
    const Stream stream(device);
    auto* cu_stream = static_cast<CUstream>(stream.handle());
    CUcontext primary = nullptr;  // as an application has it: a graph is made in the current context
    must(driver.primary_retain(&primary, device.ordinal()), "cuDevicePrimaryCtxRetain");
    must(driver.ctx_set_current(primary), "cuCtxSetCurrent");

    must(driver.begin_capture(cu_stream, GetParam()), "cuStreamBeginCapture");
    EXPECT_NO_THROW(kernel.launch(data.tensors(), data.shape, stream.handle()));
    CUgraph graph = nullptr;
    must(driver.end_capture(cu_stream, &graph), "cuStreamEndCapture");
    CUgraphExec exec = nullptr;
    must(driver.graph_instantiate(&exec, graph, 0), "cuGraphInstantiate");

    const auto want = reference(data.layer, data.shape, data.host);
    must(driver.graph_launch(exec, cu_stream), "cuGraphLaunch");
    stream.synchronize();
    EXPECT_EQ(data.y(), want);

    const auto changed = encode(DType::f32, doubled(data.host.x));
    must(driver.memcpy_to_device(address(data.tensors().x), changed.data(), changed.size()), "cuMemcpyHtoD");
    must(driver.graph_launch(exec, cu_stream), "cuGraphLaunch");
    stream.synchronize();
    EXPECT_EQ(data.y(), doubled(want)) << "the replay did not read the new input";
    driver.graph_exec_destroy(exec);
    driver.graph_destroy(graph);
    driver.ctx_set_current(nullptr);
    driver.primary_release(device.ordinal());
}

// A kernel that packs its weights: a graph that packs follows weights that change in place; one that found them packed
// keeps what it found, whatever is packed on the stream later.
void expect_packed_weights_in_a_graph(CUstreamCaptureMode mode, const char* plan, bool adds_partial_sums) {
    const Device device = Device::cuda(0);
    const CudaDriver& driver = CudaDriver::instance();
    Engine engine = fresh_engine();
    const Layer layer = parse_layer("n2 c16 o24 in9x32 k3x3 s2 p1");
    PrepareOptions options = on(device);
    options.plan = plan;
    const Kernel kernel = engine.prepare(layer, options);
    EXPECT_GT(kernel.info().packed_bytes, 0u);
    EXPECT_EQ(kernel.workspace_bytes(known_shape(layer)) > 0, adds_partial_sums);
    const OnDevice data(device, layer);
    const auto want = reference(data.layer, data.shape, data.host);
    const Stream stream(device);
    auto* cu_stream = static_cast<CUstream>(stream.handle());
    CUcontext primary = nullptr;  // as an application has it
    must(driver.primary_retain(&primary, device.ordinal()), "cuDevicePrimaryCtxRetain");
    must(driver.ctx_set_current(primary), "cuCtxSetCurrent");
    const auto put_weights = [&](const std::vector<double>& values) {
        const auto bytes = encode(DType::f32, values);
        must(driver.memcpy_to_device(address(data.tensors().w), bytes.data(), bytes.size()), "cuMemcpyHtoD");
    };
    const auto captured = [&](std::uint64_t version) {
        Tensors tensors = data.tensors();
        tensors.weights_version = version;
        must(driver.begin_capture(cu_stream, mode), "cuStreamBeginCapture");
        EXPECT_NO_THROW(kernel.launch(tensors, data.shape, stream.handle()));
        CUgraph graph = nullptr;
        must(driver.end_capture(cu_stream, &graph), "cuStreamEndCapture");
        CUgraphExec exec = nullptr;
        must(driver.graph_instantiate(&exec, graph, 0), "cuGraphInstantiate");
        driver.graph_destroy(graph);
        return exec;
    };
    const auto replayed = [&](CUgraphExec exec) {
        data.poison();
        must(driver.graph_launch(exec, cu_stream), "cuGraphLaunch");
        stream.synchronize();
        return data.y();
    };
    const auto launched = [&](std::uint64_t version) {
        data.poison();
        Tensors tensors = data.tensors();
        tensors.weights_version = version;
        kernel.launch(tensors, data.shape, stream.handle());
        stream.synchronize();
        return data.y();
    };

    const CUgraphExec packs = captured(0);
    EXPECT_EQ(replayed(packs), want);
    put_weights(doubled(data.host.w));
    EXPECT_EQ(replayed(packs), doubled(want));

    kernel.pack_weights(data.tensors().w, 1, stream.handle());
    const CUgraphExec finds = captured(1);
    put_weights(data.host.w);
    EXPECT_EQ(replayed(finds), doubled(want)) << "the weights that were packed";
    EXPECT_EQ(launched(2), want);
    EXPECT_EQ(replayed(packs), want);
    EXPECT_EQ(replayed(finds), doubled(want)) << "whatever was packed since";
    put_weights(doubled(data.host.w));
    EXPECT_EQ(replayed(packs), doubled(want));
    EXPECT_EQ(launched(2), want) << "a graph does not touch what launches have packed";
    driver.graph_exec_destroy(packs);
    driver.graph_exec_destroy(finds);
}

TEST_P(Graph, PackedWeightsInAGraph) {
    CONVT_NEEDS_GPUS(1);
    CONVT_NEEDS_TENSOR_CORES();
    // So that a launch is three kernels.
    expect_packed_weights_in_a_graph(GetParam(), "implicit_gemm chunk=8 stages=2 split=2", true);
}

TEST_P(Graph, PackedWeightsOfWarpgroupsInAGraph) {
    CONVT_NEEDS_GPUS(1);
    CONVT_NEEDS_WARPGROUPS();
    expect_packed_weights_in_a_graph(GetParam(), "implicit_gemm_sm90", false);
}

TEST_P(Graph, PreparingInsideACaptureIsToldAndLeavesItWhole) {
    CONVT_NEEDS_GPUS(1);
    const Device device = Device::cuda(0);
    const CudaDriver& driver = CudaDriver::instance();
    Engine engine = fresh_engine();
    const OnDevice data(device, k0());
    const Stream stream(device);
    auto* cu_stream = static_cast<CUstream>(stream.handle());

    must(driver.begin_capture(cu_stream, GetParam()), "cuStreamBeginCapture");
    try {
        (void)engine.prepare(k0(), on(device));
    } catch (const DriverError& error) {
        EXPECT_NE(std::string(error.what()).find("captur"), std::string::npos) << error.what();
    }
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.end_capture(cu_stream, &graph), CUDA_SUCCESS) << "the caller's capture was broken";
    if (graph) driver.graph_destroy(graph);

    const Kernel kernel = engine.prepare(k0(), on(device));
    kernel.launch(data.tensors(), data.shape, stream.handle());
    stream.synchronize();
    EXPECT_EQ(sha16(data.y()), kK0Digest);
}

INSTANTIATE_TEST_SUITE_P(Mode, Graph,
                         testing::Values(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
                                         CU_STREAM_CAPTURE_MODE_RELAXED));

}  // namespace
}  // namespace convt_jit::test
