#include "onnx/weights.h"

#include "convt_jit/error.h"
#include "convt_jit/reference.h"

#include <fmt/format.h>

#include <cmath>

namespace convt_jit::onnx_import {
namespace {

std::vector<double> numbers(const ::onnx::TensorProto& tensor, const ReadExternal& read) try {
    return reals_of(tensor, read);
} catch (const LayerError& error) {
    throw LayerError(fmt::format("tensor \"{}\"", tensor.name().substr(0, 200)), error);
}

std::optional<std::vector<double>> numbers(const char* what, const Fact& fact, std::int64_t count,
                                           const ReadExternal& read) {
    std::vector<double> values;
    if (fact.constant != nullptr) {
        values = numbers(*fact.constant, read);
    } else if (fact.reals) {
        for (const std::optional<double>& value : *fact.reals) {
            if (!value) return std::nullopt;
            values.push_back(*value);
        }
    } else {
        return std::nullopt;
    }
    if (static_cast<std::int64_t>(values.size()) != count)
        throw LayerError(what, fmt::format("{} long", values.size()), std::to_string(count));
    return values;
}

// One number stands for all channels.
std::vector<double> channels(const ::onnx::TensorProto* tensor, double otherwise, std::size_t count,
                             const ReadExternal& read) {
    if (tensor == nullptr) return std::vector<double>(count, otherwise);
    std::vector<double> values = numbers(*tensor, read);
    if (values.size() == 1) values.resize(count, values.front());
    if (values.size() != count)
        throw LayerError(fmt::format("tensor \"{}\"", tensor->name().substr(0, 200)),
                         fmt::format("{} long", values.size()), std::to_string(count));
    return values;
}

// Of every input size: that of the smallest one may have no outputs.
std::int64_t count_of_weights(const Layer& layer) {
    std::int64_t count = layer.in_channels;
    bool fits = !__builtin_mul_overflow(count, layer.out_channels_per_group(), &count);
    for (const std::int64_t size : layer.kernel) fits = fits && !__builtin_mul_overflow(count, size, &count);
    if (!fits) throw LayerError("W", "more than 2^63 elements", "what a file can hold");
    return count;
}

}  // namespace

Weights read_weights(const WeightSources& sources, const Layer& layer, const ReadExternal& read) {
    Weights weights;
    weights.w = numbers("W", sources.w, count_of_weights(layer), read);
    if (layer.bias) weights.bias = numbers("B", sources.bias, layer.out_channels, read);
    if (sources.affine.empty()) return weights;
    const auto count = static_cast<std::size_t>(layer.out_channels);
    weights.scale.assign(count, 1);
    weights.shift.assign(count, 0);
    for (const AffineStep& step : sources.affine) {
        std::vector<double> scale = channels(step.scale, 1, count, read), shift = channels(step.shift, 0, count, read);
        if (step.variance != nullptr) {
            const std::vector<double> mean = channels(step.mean, 0, count, read);
            const std::vector<double> variance = channels(step.variance, 1, count, read);
            for (std::size_t c = 0; c < count; ++c) {
                scale[c] /= std::sqrt(variance[c] + step.epsilon);
                shift[c] -= mean[c] * scale[c];
            }
        }
        for (std::size_t c = 0; c < count; ++c) {
            weights.scale[c] *= scale[c];
            weights.shift[c] = weights.shift[c] * scale[c] + shift[c];
        }
    }
    weights.scale = decode(DType::f32, encode(DType::f32, weights.scale));
    weights.shift = decode(DType::f32, encode(DType::f32, weights.shift));
    return weights;
}

std::vector<const ::onnx::TensorProto*> external_of(const WeightSources& sources) {
    std::vector<const ::onnx::TensorProto*> tensors = {sources.w.constant, sources.bias.constant};
    for (const AffineStep& step : sources.affine)
        tensors.insert(tensors.end(), {step.scale, step.shift, step.mean, step.variance});
    std::vector<const ::onnx::TensorProto*> external;
    for (const auto* const tensor : tensors)
        if (tensor != nullptr && is_external(*tensor)) external.push_back(tensor);
    return external;
}

}  // namespace convt_jit::onnx_import
