// One layer inside an application of the CUDA runtime API: its memory, its stream, its context.
#include <convt_jit/convt_jit.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

struct Free {
    void operator()(void* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<void, Free>;

DeviceMemory allocate(std::size_t bytes) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, bytes));
    return DeviceMemory(memory);
}

struct OwnStream {
    OwnStream() { check(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking)); }
    ~OwnStream() { cudaStreamDestroy(handle); }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;

    cudaStream_t handle = nullptr;
};

// On the stream that the kernel is launched on, so that the kernel comes after the copy.
DeviceMemory upload(const std::vector<unsigned char>& bytes, const OwnStream& stream) {
    DeviceMemory memory = allocate(bytes.size());
    check(cudaMemcpyAsync(memory.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream.handle));
    return memory;
}

}  // namespace

int main() try {
    using namespace convt_jit;
    const Layer layer = parse_layer("n16 c32 o64 in128x256 k3x5 s2x3 p1x2 d2x1 g4 bias f32");
    const Shape shape = known_shape(layer);
    const HostTensors numbers = random_tensors(layer, shape, 1);

    check(cudaSetDevice(0));
    const OwnStream stream;
    const DeviceMemory x = upload(encode(layer.dtype, numbers.x), stream);
    const DeviceMemory w = upload(encode(layer.dtype, numbers.w), stream);
    const DeviceMemory bias = upload(encode(layer.dtype, numbers.bias), stream);
    std::vector<unsigned char> result(static_cast<std::size_t>(sizes(layer, shape).y) * size_of(layer.dtype));
    const DeviceMemory y = allocate(result.size());

    Engine engine;
    const Kernel kernel = engine.prepare(layer);  // for the device of the current context
    Tensors tensors;
    tensors.x = x.get();
    tensors.w = w.get();
    tensors.bias = bias.get();
    tensors.y = y.get();
    kernel.launch(tensors, shape, stream.handle);
    check(cudaMemcpyAsync(result.data(), y.get(), result.size(), cudaMemcpyDeviceToHost, stream.handle));
    check(cudaStreamSynchronize(stream.handle));

    const Errors errors = compare(decode(layer.dtype, result), reference(layer, shape, numbers), layer.dtype);
    const bool right = errors.rel_l2 <= tolerance(layer);
    std::printf("%s: rel_l2 %.2e, %s\n", kernel.device().name().c_str(), errors.rel_l2, right ? "right" : "WRONG");
    return right ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
