#include "subject/check.h"

#include <cstring>

namespace convt_jit::tools {
namespace {

constexpr double kHostProducts = 2e8;  // about a second on the host

std::vector<double> device_reference(Engine& engine, const Device& device, const Layer& layer, const Shape& shape,
                                     const HostTensors& host) {
    PrepareOptions options;
    options.device = device;
    options.plan = "reference";
    const Kernel kernel = engine.prepare(layer, options);
    const std::int64_t elements = sizes(layer, shape).y;
    const DeviceTensors tensors(device, layer, host, elements, sizeof(double));
    kernel.launch(tensors.pointers(), shape);
    const std::vector<unsigned char> bytes = tensors.download_y();
    std::vector<double> values(static_cast<std::size_t>(elements));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

}  // namespace

double products(const Layer& layer, const Shape& shape) {
    double n = static_cast<double>(shape.batch) * static_cast<double>(layer.in_channels) *
               static_cast<double>(layer.out_channels_per_group());
    for (int axis = 0; axis < layer.spatial_dims(); ++axis)
        n *= static_cast<double>(shape.input[axis]) * static_cast<double>(layer.kernel[axis]);
    return n;
}

Verdict check(Engine& engine, const Device& device, const Layer& layer, const Shape& shape, const HostTensors& host,
              const std::vector<unsigned char>& y) {
    Verdict verdict;
    verdict.allowed = tolerance(layer);
    const bool on_host = !device.is_cuda() || products(layer, shape) <= kHostProducts;
    verdict.against = on_host ? "host f64" : "device f64";
    verdict.errors = compare(
        decode(layer.dtype, y),
        on_host ? reference(layer, shape, host) : device_reference(engine, device, layer, shape, host), layer.dtype);
    return verdict;
}

}  // namespace convt_jit::tools
