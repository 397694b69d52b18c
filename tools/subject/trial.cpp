#include "subject/trial.h"

#include "subject/check.h"
#include "subject/tensors.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace convt_jit::tools {
namespace {

// Of what is judged: bytes of the reference, and products that it takes.
constexpr double kJudgedBytes = 2.0 * (1U << 30), kJudgedProducts = 1e11;

// By how much a kernel is behind in each of so many pairs that it gets no more.
struct Behind {
    std::size_t pairs;
    double times;
};
constexpr Behind kBehind[] = {{1, 1.5}, {2, 1.2}, {4, 1.08}, {8, 1.03}};

}  // namespace

std::string weights_text(const KernelInfo& info, WeightsAre weights) {
    if (info.packed_bytes == 0) return "as they are";
    return weights == WeightsAre::constant ? "packed once" : "packed each time";
}

bool clearly_behind(const std::vector<double>& ms, const std::vector<double>& against_ms) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(ms.size(), against_ms.size()); ++i)
        least = std::min(least, ms[i] / against_ms[i]);
    return std::any_of(std::begin(kBehind), std::end(kBehind), [&](const Behind& behind) {
        return !ms.empty() && ms.size() >= behind.pairs && least > behind.times;
    });
}

Trial::Timed::Timed(const Trial& trial, Kernel kernel)
    : trial_(trial), kernel_(std::move(kernel)), timer_(trial.device_) {
    const Tensors tensors = trial_.pointers(trial_.y_.data(), 0);
    kernel_.pack_weights(tensors.w, tensors.weights_version, trial_.stream_.handle());
    enqueue();
    if (trial_.launching_ == Launching::plain) return;
    try {
        recording_ = Recording(trial_.stream_, [this] { enqueue(); });
    } catch (const DriverError&) {
        return;  // plain launches serve, too
    }
    (void)once();
}

double Trial::Timed::once() {
    if (recording_)
        recording_.replay();
    else
        enqueue();
    trial_.stream_.synchronize();  // an event of a graph cannot be waited for before the graph has begun
    return timer_.milliseconds();
}

// While the flush is written the host enqueues the rest: no part of the time is the host's.
void Trial::Timed::enqueue() {
    const StreamHandle stream = trial_.stream_.handle();
    trial_.flush_.fill(1, stream);
    timer_.start(stream);
    kernel_.launch(trial_.pointers(trial_.y_.data(), 0), trial_.shape_, stream);
    timer_.stop(stream);
}

Trial::Trial(Engine& engine, const Device& device, const Layer& layer, Buffer flush, WeightsAre weights,
             Launching launching)
    : engine_(engine),
      device_(device),
      layer_(layer),
      shape_(known_shape(layer)),
      weights_(weights),
      launching_(launching),
      stream_(device),
      flush_(std::move(flush)) {
    const Sizes n = sizes(layer_, shape_);
    const double per_output = products(layer_, shape_) / static_cast<double>(n.y);
    x_ = repeated_random(device, layer_.dtype, n.x, 1, 1);
    w_ = repeated_random(device, layer_.dtype, n.w, 1 / std::sqrt(std::max(per_output, 1.0)), 2);
    if (layer_.bias) bias_ = repeated_random(device, layer_.dtype, n.channels, 1, 3);
    if (layer_.epilogue.residual) residual_ = repeated_random(device, layer_.dtype, n.y, 1, 4);
    if (layer_.epilogue.affine) {
        scale_ = repeated_random(device, DType::f32, n.channels, 1, 5);
        shift_ = repeated_random(device, DType::f32, n.channels, 1, 6);
    }
    y_ = Buffer(device, static_cast<std::size_t>(n.y) * size_of(layer_.dtype));
}

std::vector<Trial::Part> Trial::judged_parts() const {
    const Shape one{1, shape_.input};
    const double allowed = std::min(kJudgedBytes / (static_cast<double>(sizes(layer_, one).y) * sizeof(double)),
                                    kJudgedProducts / std::max(products(layer_, one), 1.0));
    if (allowed >= static_cast<double>(shape_.batch) || shape_.batch <= 2) return {{0, shape_.batch}};
    const auto last = std::max<std::int64_t>(static_cast<std::int64_t>(allowed) / 2, 1);
    return {{0, last}, {shape_.batch - last, last}};
}

std::size_t Trial::elements_of(const Part& part) const {
    return static_cast<std::size_t>(sizes(layer_, {part.samples, shape_.input}).y);
}

std::vector<double> Trial::time(const Kernel& kernel, int repeats) {
    y_.fill(0xff, stream_.handle());
    Timed timed(*this, kernel);
    return time(timed, repeats);
}

std::vector<double> Trial::time(Timed& kernel, int repeats) {
    constexpr int kWarmUp = 3;
    for (int i = 1; i < kWarmUp; ++i) (void)kernel.once();
    std::vector<double> times;
    for (int i = 0; i < repeats; ++i) times.push_back(kernel.once());
    std::sort(times.begin(), times.end());
    return times;
}

void Trial::settle(Timed& kernel) {
    constexpr int kGroup = 5;
    constexpr double kSame = 0.005;
    constexpr auto kLongest = std::chrono::milliseconds(500);
    const auto begin = std::chrono::steady_clock::now();
    double before = 0;
    while (std::chrono::steady_clock::now() - begin < kLongest) {
        std::vector<double> times;
        for (int i = 0; i < kGroup; ++i) times.push_back(kernel.once());
        std::nth_element(times.begin(), times.begin() + kGroup / 2, times.end());
        const double now = times[kGroup / 2];
        if (std::abs(now - before) < kSame * now) return;
        before = now;
    }
}

Trial::Pairs Trial::compare(Timed& kernel, Timed& against, int launches) {
    Pairs pairs;
    for (int i = 0; i < launches && !clearly_behind(pairs.ms, pairs.against_ms); ++i) {
        // Each is the first of a pair every other time: what one leaves behind meets both.
        if (i % 2 == 1) pairs.against_ms.push_back(against.once());
        pairs.ms.push_back(kernel.once());
        if (i % 2 == 0) pairs.against_ms.push_back(against.once());
    }
    return pairs;
}

void Trial::know_reference() {
    if (comparison_) return;
    PrepareOptions options;
    options.device = device_;
    options.plan = "reference";
    const Kernel reference = engine_.prepare(layer_, options);
    parts_ = judged_parts();
    for (const Part& part : parts_) {
        const Buffer exact(device_, elements_of(part) * sizeof(double));
        exact.fill(0xff);
        reference.launch(pointers(exact.data(), part.first), {part.samples, shape_.input}, stream_.handle());
        want_.push_back(exact);
    }
    stream_.synchronize();  // before the kernel goes
    comparison_.emplace(device_);
}

Errors Trial::judge(const Kernel& kernel) {
    y_.fill(0xff, stream_.handle());
    const Tensors tensors = pointers(y_.data(), 0);
    kernel.pack_weights(tensors.w, tensors.weights_version, stream_.handle());
    kernel.launch(tensors, shape_, stream_.handle());
    return judge();
}

Errors Trial::judge() {
    know_reference();
    Errors all;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const std::size_t first = parts_[i].first == 0 ? 0 : elements_of({0, parts_[i].first});
        const Errors errors =
            comparison_->compare(static_cast<const char*>(y_.data()) + first * size_of(layer_.dtype), want_[i].data(),
                                 static_cast<std::int64_t>(elements_of(parts_[i])), layer_.dtype, stream_.handle());
        all.rel_l2 = std::max(all.rel_l2, errors.rel_l2);
        all.wrong_nonfinite += errors.wrong_nonfinite;
        if (all.worst < 0 || errors.max_abs > all.max_abs) {
            all.max_abs = errors.max_abs;
            all.worst = errors.worst < 0 ? all.worst : errors.worst + static_cast<std::int64_t>(first);
        }
    }
    return all;
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
