// A container with a driver and no toolkit: kernels come from a warm cache, and no compiler is needed.
//
//   where there is a compiler:   warm_only warm sm_90           fills $CONVT_JIT_CACHE_DIR; needs no GPU
//                                warm_only export kernels.tar
//   in the container:            warm_only import kernels.tar
//                                warm_only run                  fails where a kernel is missing, and says which
//
// An image may also bring the directory itself: CONVT_JIT_CACHE_PATH=/opt/kernels.
#include <convt_jit/convt_jit.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace convt_jit;

const char* const kLayers[] = {"n4 c32 o64 in64x64 k3x5 s2x3 p1x2 d2x1 g4 bias f32",
                               "n4 c32 o16 in64x64 k4 s2 p1 bias relu f16", "n4 c16 o16 in64x64 k2 s2 nhwc bf16"};

Buffer upload(const Device& device, const std::vector<unsigned char>& bytes) {
    Buffer buffer(device, bytes.size());
    if (!bytes.empty()) buffer.upload(bytes.data(), bytes.size());
    return buffer;
}

// True where the kernel came from the cache and its result is right.
bool run(Engine& engine, const Device& device, const std::string& text) {
    const Layer layer = parse_layer(text);
    const Shape shape = known_shape(layer);
    PrepareOptions options;
    options.device = device;
    const Kernel kernel = engine.prepare(layer, options);  // CompileError: not in the cache

    const HostTensors host = random_tensors(layer, shape, 1);
    const Buffer x = upload(device, encode(layer.dtype, host.x)), w = upload(device, encode(layer.dtype, host.w));
    const Buffer bias = upload(device, encode(layer.dtype, host.bias));
    std::vector<unsigned char> result(static_cast<std::size_t>(sizes(layer, shape).y) * size_of(layer.dtype));
    const Buffer y(device, result.size());
    Tensors tensors;
    tensors.x = x.data();
    tensors.w = w.data();
    tensors.y = y.data();
    if (layer.bias) tensors.bias = bias.data();
    kernel.launch(tensors, shape);
    y.download(result.data(), result.size());

    const Errors errors = compare(decode(layer.dtype, result), reference(layer, shape, host), layer.dtype);
    const bool right = errors.rel_l2 <= tolerance(layer);
    const bool warm = kernel.info().origin != Origin::compiler;
    std::printf("%s: from %s in %.1f ms, rel_l2 %.2e, %s\n", text.c_str(), to_string(kernel.info().origin),
                kernel.info().render_ms + kernel.info().load_ms, errors.rel_l2, right ? "right" : "WRONG");
    return right && warm;
}

}  // namespace

int main(int count, char** arguments) try {
    const std::string what = count > 1 ? arguments[1] : "";
    const std::string with = count > 2 ? arguments[2] : "";
    if (what == "warm" && !with.empty()) {
        Engine engine;
        for (const char* layer : kLayers) {
            const KernelInfo info = engine.compile(parse_layer(layer), with);
            std::printf("%s: %s in %.0f ms\n", info.key.c_str(), to_string(info.origin), info.compile_ms);
        }
        return 0;
    }
    if (what == "export" && !with.empty()) {
        std::printf("%zu entries written\n", Cache().export_to(with).entries);
        return 0;
    }
    if (what == "import" && !with.empty()) {
        std::printf("%zu entries kept\n", Cache().import_from(with).entries);
        return 0;
    }
    if (what == "run") {
        std::string why;
        if (Device::cuda_count(&why) == 0) throw std::runtime_error("no CUDA device: " + why);
        const Device device = Device::best();
        std::printf("%s\n", device.name().c_str());
        Engine engine;
        bool good = true;
        for (const char* layer : kLayers) good = run(engine, device, layer) && good;
        return good ? 0 : 1;
    }
    std::fprintf(stderr, "usage: warm_only warm ARCH | export FILE | import FILE | run\n");
    return 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
