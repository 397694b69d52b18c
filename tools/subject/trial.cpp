#include "subject/trial.h"

#include "subject/check.h"
#include "subject/tensors.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace convt_jit::tools {
namespace {

Buffer random(const Device& device, std::int64_t elements, DType dtype, double deviation, std::uint64_t seed) {
    const std::vector<unsigned char> bytes = repeated_random(dtype, elements, deviation, seed);
    Buffer buffer(device, bytes.size());
    if (!bytes.empty()) buffer.upload(bytes.data(), bytes.size());
    return buffer;
}

std::vector<std::int64_t> judged_samples(const Shape& shape) {
    if (shape.batch > 1) return {0, shape.batch - 1};
    return {0};
}

}  // namespace

std::string weights_text(const KernelInfo& info, WeightsAre weights) {
    if (info.packed_bytes == 0) return "as they are";
    return weights == WeightsAre::constant ? "packed once" : "packed each time";
}

Trial::Trial(Engine& engine, const Device& device, const Layer& layer, Buffer flush, WeightsAre weights)
    : engine_(engine),
      device_(device),
      layer_(layer),
      shape_(known_shape(layer)),
      weights_(weights),
      stream_(device),
      flush_(std::move(flush)) {
    const Sizes n = sizes(layer_, shape_);
    const double per_output = products(layer_, shape_) / static_cast<double>(n.y);
    x_ = random(device, n.x, layer_.dtype, 1, 1);
    w_ = random(device, n.w, layer_.dtype, 1 / std::sqrt(std::max(per_output, 1.0)), 2);
    if (layer_.bias) bias_ = random(device, n.channels, layer_.dtype, 1, 3);
    if (layer_.epilogue.residual) residual_ = random(device, n.y, layer_.dtype, 1, 4);
    if (layer_.epilogue.affine) {
        scale_ = random(device, n.channels, DType::f32, 1, 5);
        shift_ = random(device, n.channels, DType::f32, 1, 6);
    }
    y_ = Buffer(device, static_cast<std::size_t>(n.y) * size_of(layer_.dtype));
}

std::vector<double> Trial::reference() const {
    PrepareOptions options;
    options.device = device_;
    options.plan = "reference";
    const Kernel reference = engine_.prepare(layer_, options);
    const Shape one{1, shape_.input};
    const auto per_sample = static_cast<std::size_t>(sizes(layer_, one).y);
    const Buffer exact(device_, per_sample * sizeof(double));
    std::vector<double> want;
    for (const std::int64_t sample : judged_samples(shape_)) {
        exact.fill(0xff);
        reference.launch(pointers(exact.data(), sample), one);
        std::vector<double> values(per_sample);
        exact.download(values.data(), exact.bytes());
        want.insert(want.end(), values.begin(), values.end());
    }
    return want;
}

std::vector<double> Trial::time(const Kernel& kernel, int repeats) {
    constexpr int kWarmUp = 3;
    y_.fill(0xff, stream_.handle());
    const Tensors tensors = pointers(y_.data(), 0);
    kernel.pack_weights(tensors.w, tensors.weights_version, stream_.handle());
    Timer timer(device_);
    std::vector<double> times;
    for (int i = -kWarmUp; i < repeats; ++i) {
        // While the flush is written the host enqueues the rest: no part of the time is the host's.
        flush_.fill(static_cast<unsigned char>(i), stream_.handle());
        timer.start(stream_.handle());
        kernel.launch(tensors, shape_, stream_.handle());
        timer.stop(stream_.handle());
        if (i >= 0) times.push_back(timer.milliseconds());
    }
    std::sort(times.begin(), times.end());
    return times;
}

Errors Trial::judge() {
    if (want_.empty()) want_ = reference();
    const auto per_sample = static_cast<std::size_t>(sizes(layer_, {1, shape_.input}).y);
    const std::size_t sample_bytes = per_sample * size_of(layer_.dtype);
    std::vector<unsigned char> y(y_.bytes());
    y_.download(y.data(), y.size());
    std::vector<double> got;
    for (const std::int64_t sample : judged_samples(shape_)) {
        const auto first = y.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(sample) * sample_bytes);
        const std::vector<double> ours =
            decode(layer_.dtype, {first, first + static_cast<std::ptrdiff_t>(sample_bytes)});
        got.insert(got.end(), ours.begin(), ours.end());
    }
    return compare(got, want_, layer_.dtype);
}

Tensors Trial::pointers(const void* y, std::int64_t sample) const {
    const Sizes one = sizes(layer_, {1, shape_.input});
    const auto moved = [&](const Buffer& buffer, std::int64_t elements) {
        return static_cast<const char*>(buffer.data()) +
               static_cast<std::size_t>(sample * elements) * size_of(layer_.dtype);
    };
    Tensors t;
    t.x = moved(x_, one.x);
    t.w = w_.data();
    t.weights_version = weights_ == WeightsAre::constant ? 1 : 0;  // they never change here
    t.y = const_cast<void*>(y);
    if (layer_.bias) t.bias = bias_.data();
    if (layer_.epilogue.residual) t.residual = moved(residual_, one.y);
    if (layer_.epilogue.affine) {
        t.scale = static_cast<const float*>(scale_.data());
        t.shift = static_cast<const float*>(shift_.data());
    }
    return t;
}

Buffer flush_of(const Device& device) {
    return {device, std::max<std::size_t>(4 * device.l2_bytes(), std::size_t{256} << 20)};
}

}  // namespace convt_jit::tools
