#include "subject/tensors.h"

#include <fmt/format.h>

#include <algorithm>

namespace convt_jit::tools {
namespace {

Buffer uploaded(const Device& device, const std::vector<unsigned char>& bytes) {
    Buffer buffer(device, bytes.size());
    if (!bytes.empty()) buffer.upload(bytes.data(), bytes.size());
    return buffer;
}

}  // namespace

std::string no_host_memory(const Layer& layer, const Shape& shape) {
    const Sizes n = sizes(layer, shape);
    const auto bytes = [](std::int64_t elements) { return static_cast<std::uint64_t>(elements) * sizeof(double); };
    return fmt::format("not enough memory on the host: x takes {} bytes, w {}, y {}{}, and checks take copies",
                       bytes(n.x), bytes(n.w), bytes(n.y),
                       layer.epilogue.residual ? fmt::format(", residual {}", bytes(n.y)) : "");
}

DeviceTensors::DeviceTensors(const Device& device, const Layer& layer, const HostTensors& host, std::int64_t y_elements,
                             std::size_t y_element)
    : layer_(layer),
      x_(uploaded(device, encode(layer.dtype, host.x))),
      w_(uploaded(device, encode(layer.dtype, host.w))),
      bias_(uploaded(device, encode(layer.dtype, host.bias))),
      residual_(uploaded(device, encode(layer.dtype, host.residual))),
      scale_(uploaded(device, encode(DType::f32, host.scale))),
      shift_(uploaded(device, encode(DType::f32, host.shift))),
      y_(device, static_cast<std::size_t>(y_elements) * y_element) {
    poison();
}

Tensors DeviceTensors::pointers() const {
    Tensors tensors;
    tensors.x = x_.data();
    tensors.w = w_.data();
    tensors.y = y_.data();
    if (layer_.bias) tensors.bias = bias_.data();
    if (layer_.epilogue.residual) tensors.residual = residual_.data();
    if (layer_.epilogue.affine) {
        tensors.scale = static_cast<const float*>(scale_.data());
        tensors.shift = static_cast<const float*>(shift_.data());
    }
    return tensors;
}

std::vector<unsigned char> DeviceTensors::download_y() const {
    std::vector<unsigned char> bytes(y_.bytes());
    if (!bytes.empty()) y_.download(bytes.data(), bytes.size());
    return bytes;
}

Buffer repeated_random(const Device& device, DType dtype, std::int64_t elements, double deviation, std::uint64_t seed) {
    const Buffer buffer(device, static_cast<std::size_t>(elements) * size_of(dtype));
    if (elements == 0) return buffer;
    constexpr std::int64_t kDifferent = 4'000'037;  // odd and no multiple of a row: neighbours in memory differ
    Layer plain = Layer::make(1, 1, {1});
    plain.dtype = dtype;
    HostTensors values = random_tensors(plain, {1, {std::min(elements, kDifferent)}}, seed);
    if (deviation != 1)
        for (double& v : values.x) v *= deviation;
    const std::vector<unsigned char> pattern = encode(dtype, values.x);
    buffer.repeat(pattern.data(), pattern.size());
    return buffer;
}

}  // namespace convt_jit::tools
