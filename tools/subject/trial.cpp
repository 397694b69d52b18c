#include "subject/trial.h"

#include "subject/check.h"
#include "subject/tensors.h"

#include <algorithm>
#include <chrono>
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
      timer_(device),
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

double Trial::time_once(const Kernel& kernel) {
    // While the flush is written the host enqueues the rest: no part of the time is the host's.
    flush_.fill(++flushed_with_, stream_.handle());
    timer_.start(stream_.handle());
    kernel.launch(pointers(y_.data(), 0), shape_, stream_.handle());
    timer_.stop(stream_.handle());
    return timer_.milliseconds();
}

void Trial::ready(const Kernel& kernel) {
    const Tensors tensors = pointers(y_.data(), 0);
    kernel.pack_weights(tensors.w, tensors.weights_version, stream_.handle());
    (void)time_once(kernel);
}

std::vector<double> Trial::time(const Kernel& kernel, int repeats) {
    constexpr int kWarmUp = 3;
    y_.fill(0xff, stream_.handle());
    ready(kernel);
    for (int i = 1; i < kWarmUp; ++i) (void)time_once(kernel);
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) times.push_back(time_once(kernel));
    std::sort(times.begin(), times.end());
    return times;
}

void Trial::settle(const Kernel& kernel) {
    constexpr int kGroup = 5;
    constexpr double kSame = 0.005;
    constexpr auto kLongest = std::chrono::milliseconds(500);
    const auto begin = std::chrono::steady_clock::now();
    ready(kernel);
    double before = 0;
    while (std::chrono::steady_clock::now() - begin < kLongest) {
        std::vector<double> times;
        for (int i = 0; i < kGroup; ++i) times.push_back(time_once(kernel));
        std::nth_element(times.begin(), times.begin() + kGroup / 2, times.end());
        const double now = times[kGroup / 2];
        if (std::abs(now - before) < kSame * now) return;
        before = now;
    }
}

Trial::Pairs Trial::compare(const Kernel& kernel, const Kernel& against, int launches, double hopeless) {
    ready(kernel);
    ready(against);
    Pairs pairs;
    for (int i = 0; i < launches; ++i) {
        // Each is the first of a pair every other time: what one leaves behind meets both.
        double ours = 0, theirs = 0;
        if (i % 2 == 1) theirs = time_once(against);
        ours = time_once(kernel);
        if (i % 2 == 0) theirs = time_once(against);
        pairs.ms.push_back(ours);
        pairs.against_ms.push_back(theirs);
        if (i == 0 && ours > hopeless * theirs) break;
    }
    return pairs;
}

void Trial::know_reference() {
    if (want_.empty()) want_ = reference();
}

Errors Trial::judge(const Kernel& kernel) {
    y_.fill(0xff, stream_.handle());
    ready(kernel);
    return judge();
}

Errors Trial::judge() {
    know_reference();
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
    return convt_jit::compare(got, want_, layer_.dtype);
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
