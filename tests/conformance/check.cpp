#include "conformance/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace convt_jit::test {
namespace {

using Bytes = std::vector<unsigned char>;
constexpr std::size_t kGuard = 256;
constexpr unsigned char kPoison = 0xFF;

// A tensor on the device with poison before and behind it: reading past it gives NaN, writing past it is seen.
class Guarded {
public:
    Guarded() = default;
    // `bytes` of content, which is repeated until they are full.
    Guarded(const Device& device, const Bytes& content, std::size_t bytes, std::size_t offset)
        : begin_(kGuard + offset),
          bytes_(bytes),
          image_(begin_ + bytes + kGuard, kPoison),
          buffer_(device, image_.size()) {
        for (std::size_t at = 0; at < bytes; at += content.size()) {
            std::memcpy(image_.data() + begin_ + at, content.data(), std::min(content.size(), bytes - at));
        }
        buffer_.upload(image_.data(), image_.size());
    }

    [[nodiscard]] void* data() const {
        return image_.empty() ? nullptr : static_cast<unsigned char*>(buffer_.data()) + begin_;
    }
    [[nodiscard]] const unsigned char* content() const { return image_.data() + begin_; }

    // Downloads. Throws where anything but the content changed; `writable`: the content may have.
    void expect_intact(const char* name, bool writable) {
        if (image_.empty()) return;
        Bytes now(image_.size());
        buffer_.download(now.data(), now.size());
        expect_same(name, now, 0, begin_);
        if (!writable) expect_same(name, now, begin_, begin_ + bytes_);
        expect_same(name, now, begin_ + bytes_, now.size());
        image_ = std::move(now);
    }

private:
    void expect_same(const char* name, const Bytes& now, std::size_t from, std::size_t to) const {
        if (std::memcmp(now.data() + from, image_.data() + from, to - from) == 0) return;
        while (now[from] == image_[from]) ++from;
        throw std::runtime_error(std::string(name) + " was written to at byte " +
                                 std::to_string(static_cast<std::int64_t>(from) - static_cast<std::int64_t>(begin_)) +
                                 " of " + std::to_string(bytes_));
    }

    std::size_t begin_ = 0, bytes_ = 0;
    Bytes image_;
    Buffer buffer_;
};

Layer without_sizes(Layer layer) {
    layer.batch.reset();
    layer.input = Dims{};
    return layer;
}

void expect_repeated(const unsigned char* y, std::size_t sample, std::int64_t batch, std::int64_t period) {
    for (std::int64_t n = period; n < batch; ++n) {
        const auto* first = y + static_cast<std::size_t>(n % period) * sample;
        if (std::memcmp(first, y + static_cast<std::size_t>(n) * sample, sample) != 0) {
            throw std::runtime_error("sample " + std::to_string(n) + " differs from sample " +
                                     std::to_string(n % period) + ", which has the same input");
        }
    }
}

// One launch with a y of `y_element` bytes an element; the bytes of y's first `period` samples.
Bytes launch(Engine& engine, const Device& device, const Layer& layer, const Shape& shape, const HostTensors& tensors,
             const RunOptions& options, std::size_t y_element) {
    const std::int64_t period = options.period > 0 ? std::min(options.period, shape.batch) : shape.batch;
    const Sizes whole = sizes(layer, shape);
    const std::size_t element = size_of(layer.dtype);
    const std::size_t y_bytes = static_cast<std::size_t>(whole.y) * y_element;
    const std::size_t part = static_cast<std::size_t>(sizes(layer, {period, shape.input}).y) * y_element;
    const bool in_place = options.residual_is_y && layer.epilogue.residual;

    const auto place = [&](bool used, const std::vector<double>& values, DType dtype, std::int64_t count) {
        const std::size_t size = size_of(dtype);
        return used ? Guarded(device, encode(dtype, values), static_cast<std::size_t>(count) * size,
                              static_cast<std::size_t>(options.misalign) * size)
                    : Guarded();
    };
    Guarded x = place(true, tensors.x, layer.dtype, whole.x);
    Guarded w = place(true, tensors.w, layer.dtype, whole.w);
    Guarded bias = place(layer.bias, tensors.bias, layer.dtype, whole.channels);
    Guarded residual = place(layer.epilogue.residual && !in_place, tensors.residual, layer.dtype, whole.y);
    Guarded scale = place(layer.epilogue.affine, tensors.scale, DType::f32, whole.channels);
    Guarded shift = place(layer.epilogue.affine, tensors.shift, DType::f32, whole.channels);
    Guarded y(device, in_place ? encode(layer.dtype, tensors.residual) : Bytes(std::max(part, element), kPoison),
              y_bytes, static_cast<std::size_t>(options.misalign) * y_element);

    Tensors pointers;
    pointers.x = x.data();
    pointers.w = w.data();
    pointers.bias = bias.data();
    pointers.residual = in_place ? y.data() : residual.data();
    pointers.scale = static_cast<const float*>(scale.data());
    pointers.shift = static_cast<const float*>(shift.data());
    pointers.y = y.data();

    PrepareOptions prepare = options.prepare;
    prepare.device = device;
    const Kernel kernel = engine.prepare(options.forget_sizes ? without_sizes(layer) : layer, prepare);
    kernel.launch(pointers, shape);

    y.expect_intact("y", true);
    x.expect_intact("x", false);
    w.expect_intact("w", false);
    bias.expect_intact("bias", false);
    residual.expect_intact("residual", false);
    scale.expect_intact("scale", false);
    shift.expect_intact("shift", false);
    if (shape.batch == 0) return {};
    expect_repeated(y.content(), part / static_cast<std::size_t>(period), shape.batch, period);
    return Bytes(y.content(), y.content() + part);
}

// Half a unit in the last place of 1, with a little room for values that sit between two.
double rounding(DType dtype) {
    switch (dtype) {
        case DType::f16:
            return 1.01 / 2048;
        case DType::bf16:
            return 1.01 / 256;
        case DType::f32:
            break;
    }
    return 1.01 / (1 << 24);
}

// What the sum may be off by, in units of the tensor's root mean square: far less than any single missing or doubled
// product is worth, far more than rounding adds up to.
double sum_error(const Layer& layer) {
    return layer.dtype == DType::f32 && layer.precision == Precision::tf32 ? 1e-2 : 1e-4;
}

}  // namespace

std::vector<double> run(Engine& engine, const Device& device, const Layer& layer, const Shape& shape,
                        const HostTensors& tensors, const RunOptions& options) {
    return decode(layer.dtype, launch(engine, device, layer, shape, tensors, options, size_of(layer.dtype)));
}

std::vector<double> device_reference(Engine& engine, const Device& device, const Layer& layer, const Shape& shape,
                                     const HostTensors& tensors) {
    RunOptions options;
    options.prepare.plan = "reference";
    const Bytes bytes = launch(engine, device, layer, shape, tensors, options, sizeof(double));
    std::vector<double> values(bytes.size() / sizeof(double));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

std::string differences(const Layer& layer, const std::vector<double>& got, const std::vector<double>& want) {
    std::ostringstream text;
    if (got.size() != want.size()) {
        text << got.size() << " elements instead of " << want.size();
        return text.str();
    }
    const Errors errors = compare(got, want, layer.dtype);
    if (errors.wrong_nonfinite > 0) {
        text << errors.wrong_nonfinite << " elements that are NaN or Inf on one side alone, such as y[" << errors.worst
             << "]; ";
    }
    if (!(errors.rel_l2 <= tolerance(layer))) {
        text << "relative L2 error " << errors.rel_l2 << " above " << tolerance(layer) << ", largest error "
             << errors.max_abs << "; ";
    }
    // The norm of a large tensor hides a single wrong element, most of all in 16 bits.
    double squares = 0;
    const auto finite = [&](std::size_t i) { return std::isfinite(got[i]) && std::isfinite(want[i]); };
    for (std::size_t i = 0; i < want.size(); ++i) squares += finite(i) ? want[i] * want[i] : 0;
    const double unit = std::max(1.0, std::sqrt(squares / std::max<double>(1, static_cast<double>(want.size()))));
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const double allowed = rounding(layer.dtype) * std::abs(want[i]) + sum_error(layer) * unit;
        // Others are judged above, as only there it is known where the dtype overflows.
        if (!finite(i) || std::abs(got[i] - want[i]) <= allowed) continue;
        if (wrong++ == 0) first = i;
    }
    if (wrong > 0) {
        text << wrong << " of " << want.size() << " elements are wrong, the first is y[" << first
             << "] = " << got[first] << " instead of " << want[first];
    }
    return text.str();
}

double products(const Layer& layer, const Shape& shape) {
    double result = static_cast<double>(shape.batch) * static_cast<double>(layer.in_channels) *
                    static_cast<double>(layer.out_channels_per_group());
    for (int axis = 0; axis < layer.spatial_dims(); ++axis) {
        result *= static_cast<double>(shape.input[axis]) * static_cast<double>(layer.kernel[axis]);
    }
    return result;
}

std::string check(Engine& engine, const Device& device, const Layer& layer, const Shape& shape, std::uint64_t seed,
                  Against against, RunOptions options) {
    std::string reason;
    try {
        if (seed % 2 == 1) options.misalign = 1 + static_cast<std::int64_t>(seed / 2 % 3);
        const std::int64_t batch = options.period > 0 ? std::min(options.period, shape.batch) : shape.batch;
        const Shape part{batch, shape.input};
        const HostTensors tensors = random_tensors(layer, part, seed);
        const std::vector<double> got = run(engine, device, layer, shape, tensors, options);
        if (against.host) reason = differences(layer, got, reference(layer, part, tensors));
        if (reason.empty() && against.device) {
            reason = differences(layer, got, device_reference(engine, device, layer, part, tensors));
            if (!reason.empty()) reason = "against the reference family: " + reason;
        }
    } catch (const std::exception& error) {
        reason = error.what();
    }
    if (reason.empty()) return {};
    Layer told = layer;
    told.batch = shape.batch;
    told.input = shape.input;
    return "convt run \"" + to_string(told) + "\" --seed " + std::to_string(seed) + ": " + reason;
}

}  // namespace convt_jit::test
