// An application of the CUDA runtime: its memory, its stream, its (primary) context.

#include "gpu/gpu.h"

#include <cuda_runtime_api.h>

namespace convt_jit::test {
namespace {

TEST(RuntimeApi, ItsPointersAndStreamsAreUsedAsTheyAre) {
    CONVT_NEEDS_GPUS(1);
    const Layer layer = k0();
    const Shape shape = known_shape(layer);
    const HostTensors host = hash_fill(layer, shape);
    const auto x_bytes = encode(DType::f32, host.x), w_bytes = encode(DType::f32, host.w);
    std::vector<unsigned char> y_bytes(static_cast<std::size_t>(sizes(layer, shape).y) * sizeof(float));

    void *x = nullptr, *w = nullptr, *y = nullptr;
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&x, x_bytes.size()), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&w, w_bytes.size()), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&y, y_bytes.size()), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);

    Engine engine = fresh_engine();
    const Kernel kernel = engine.prepare(layer);
    EXPECT_EQ(kernel.device(), Device::cuda(0));
    ASSERT_EQ(cudaMemcpyAsync(x, x_bytes.data(), x_bytes.size(), cudaMemcpyHostToDevice, stream), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(w, w_bytes.data(), w_bytes.size(), cudaMemcpyHostToDevice, stream), cudaSuccess);
    Tensors tensors;
    tensors.x = x;
    tensors.w = w;
    tensors.y = y;
    kernel.launch(tensors, shape, stream);
    ASSERT_EQ(cudaMemcpyAsync(y_bytes.data(), y, y_bytes.size(), cudaMemcpyDeviceToHost, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(sha16(decode(DType::f32, y_bytes)), kK0Digest);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);

    cudaStreamDestroy(stream);
    for (void* pointer : {x, w, y}) cudaFree(pointer);
}

}  // namespace
}  // namespace convt_jit::test
