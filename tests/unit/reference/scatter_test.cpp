#include "reference/scatter.h"

#include "convt_jit/error.h"
#include "random_layer.h"
#include "reference/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace convt_jit {
namespace {

// Where element (n, c, position) of a tensor lies; `position` counts over the axes, last one fastest.
std::size_t at(Layout layout, std::int64_t channels, std::int64_t positions, std::int64_t n, std::int64_t c,
               std::int64_t position) {
    return static_cast<std::size_t>(layout == Layout::channels_first ? (n * channels + c) * positions + position
                                                                     : (n * positions + position) * channels + c);
}

Dims unflatten(const Dims& size, std::int64_t position) {
    Dims coordinates = size;
    for (int axis = size.rank() - 1; axis >= 0; --axis) {
        coordinates[axis] = position % size[axis];
        position /= size[axis];
    }
    return coordinates;
}

std::int64_t count(const Dims& size) {
    std::int64_t product = 1;
    for (const std::int64_t value : size) product *= value;
    return product;
}

// The definition turned around: for each output the taps and inputs that fulfil o + pad - k*dilation = i*stride.
double gathered_sum(const Layer& layer, const HostTensors& t, const Dims& input, const Dims& o, std::int64_t n,
                    std::int64_t channel) {
    const std::int64_t ins = layer.in_channels_per_group(), outs = layer.out_channels_per_group();
    double sum = 0;
    for (std::int64_t tap = 0; tap < count(layer.kernel); ++tap) {
        const Dims k = unflatten(layer.kernel, tap);
        std::int64_t position = 0;
        bool reaches = true;
        for (int axis = 0; axis < o.rank(); ++axis) {
            const std::int64_t distance = o[axis] + layer.pad_begin[axis] - k[axis] * layer.dilation[axis];
            const std::int64_t i = distance / layer.stride[axis];
            reaches = reaches && distance >= 0 && distance % layer.stride[axis] == 0 && i < input[axis];
            position = position * input[axis] + i;
        }
        if (!reaches) continue;
        for (std::int64_t c = channel / outs * ins; c < (channel / outs + 1) * ins; ++c)
            sum += t.x[at(layer.layout, layer.in_channels, count(input), n, c, position)] *
                   t.w[static_cast<std::size_t>((c * outs + channel % outs) * count(layer.kernel) + tap)];
    }
    return sum;
}

std::vector<double> gather(const Layer& layer, const Shape& shape, const HostTensors& t) {
    const Dims output = output_size(layer, shape.input);
    const std::int64_t positions = count(output);
    std::vector<double> y(static_cast<std::size_t>(shape.batch * layer.out_channels * positions));
    for (std::int64_t n = 0; n < shape.batch; ++n)
        for (std::int64_t c = 0; c < layer.out_channels; ++c)
            for (std::int64_t position = 0; position < positions; ++position) {
                double v = gathered_sum(layer, t, shape.input, unflatten(output, position), n, c);
                const auto channel = static_cast<std::size_t>(c);
                const std::size_t index = at(layer.layout, layer.out_channels, positions, n, c, position);
                if (layer.bias) v += t.bias[channel];
                if (layer.epilogue.scale) v *= static_cast<double>(*layer.epilogue.scale);
                if (layer.epilogue.affine) v = v * t.scale[channel] + t.shift[channel];
                if (layer.epilogue.residual) v += t.residual[index];
                v = activate(layer.epilogue, v);
                if (layer.epilogue.clamp)
                    v = std::fmin(std::fmax(v, (*layer.epilogue.clamp)[0]), (*layer.epilogue.clamp)[1]);
                y[index] = v;
            }
    return y;
}

TEST(Scatter, EqualsTheDefinitionOnRandomLayers) {
    constexpr std::uint64_t seed = 20240;
    RandomLayers random(seed);
    for (int i = 0; i < 400; ++i) {
        const Layer layer = random.draw();
        SCOPED_TRACE("seed " + std::to_string(seed) + " layer " + std::to_string(i) + ": " + to_string(layer));
        const Shape shape = known_shape(layer);
        const HostTensors tensors = random_tensors(layer, shape, static_cast<std::uint64_t>(i));
        const Errors errors = compare(reference(layer, shape, tensors), gather(layer, shape, tensors));
        ASSERT_LT(errors.rel_l2, 1e-13) << "worst " << errors.worst;
        ASSERT_LT(errors.max_abs, 1e-12);
    }
}

TEST(Scatter, DoesNotDependOnTheNumberOfThreads) {
    for (const char* text :
         {"n3 c12 o8 in9x17 k3x5 s2x3 p1x2 d2x1 g4 bias f32", "n2 c6 o10 in31 k7 s2 f16 nhwc gelu"}) {
        const Layer layer = parse_layer(text);
        const HostTensors tensors = random_tensors(layer, known_shape(layer), 7);
        const auto one = scatter(layer, known_shape(layer), tensors, 1);
        for (const int threads : {2, 5, 64}) EXPECT_EQ(scatter(layer, known_shape(layer), tensors, threads), one);
    }
}

// Stride 4 and one tap: three of four outputs are reached by none and hold the bias, through the epilogue, exactly.
TEST(Scatter, OutputsWithoutTapsAreTheBiasThroughTheEpilogue) {
    const Layer layer = parse_layer("n1 c1 o1 in3 k1 s4 op3 bias scale2 leaky0.5 clamp-9:9 f32");
    HostTensors tensors;
    tensors.x = {1, std::numeric_limits<double>::quiet_NaN(), -3};
    tensors.w = {std::numeric_limits<double>::infinity()};
    tensors.bias = {-0.3};
    const auto y = reference(layer, known_shape(layer), tensors);
    ASSERT_EQ(y.size(), 12U);
    for (std::size_t i = 0; i < y.size(); ++i)
        if (i % 4 != 0) {
            EXPECT_EQ(y[i], -0.3 * 2 * static_cast<double>(0.5F));
        }
    EXPECT_EQ(y[0], 9);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[8], -9);
}

TEST(Scatter, AppliesTheEpilogueInOrder) {
    const Layer layer = parse_layer("n1 c1 o1 in1 k1 bias f32 scale3 affine residual relu clamp0:100");
    HostTensors tensors;
    tensors.x = {2};
    tensors.w = {5};
    tensors.bias = {1};
    tensors.scale = {2};
    tensors.shift = {-7};
    tensors.residual = {4};
    EXPECT_EQ(reference(layer, known_shape(layer), tensors), std::vector<double>{((2 * 5 + 1) * 3 * 2 - 7) + 4});
    tensors.residual = {-100};
    EXPECT_EQ(reference(layer, known_shape(layer), tensors), std::vector<double>{0});
    tensors.residual = {100};
    EXPECT_EQ(reference(layer, known_shape(layer), tensors), std::vector<double>{100});
}

TEST(Scatter, HasTheActivationsOfPyTorch) {
    const auto value = [](Activation activation, double v) {
        Epilogue epilogue;
        epilogue.activation = activation;
        return activate(epilogue, v);
    };
    EXPECT_NEAR(value(Activation::gelu, 1), 0.8413447460685429, 1e-15);
    EXPECT_NEAR(value(Activation::gelu, -2), -0.04550026389635842, 1e-15);
    EXPECT_NEAR(value(Activation::sigmoid, 1), 0.7310585786300049, 1e-15);
    EXPECT_NEAR(value(Activation::silu, -1), -0.2689414213699951, 1e-15);
    EXPECT_NEAR(value(Activation::tanh, 0.5), 0.46211715726000973, 1e-15);
    EXPECT_NEAR(value(Activation::hardswish, 1), 2.0 / 3, 1e-15);
    EXPECT_EQ(value(Activation::hardswish, -3.5), 0);
    EXPECT_EQ(value(Activation::hardswish, 4), 4);
    EXPECT_EQ(value(Activation::relu, -1), 0);
    EXPECT_EQ(value(Activation::leaky_relu, -1), -static_cast<double>(0.01F));
    for (int activation = 0; activation <= static_cast<int>(Activation::hardswish); ++activation)
        EXPECT_TRUE(std::isnan(value(static_cast<Activation>(activation), std::nan("")))) << activation;
}

TEST(Scatter, TakesAnEmptyBatch) {
    const Layer layer = parse_layer("n0 c2 o3 in4x5 k3x3 bias f32 residual nhwc");
    const HostTensors tensors = random_tensors(layer, known_shape(layer), 1);
    EXPECT_TRUE(reference(layer, known_shape(layer), tensors).empty());
}

TEST(Scatter, RefusesTensorsOfAnotherSize) {
    const Layer layer = parse_layer("n1 c2 o3 in4 k3 bias f32");
    const Shape shape = known_shape(layer);
    const auto field_refused = [&](auto spoil) {
        HostTensors tensors = random_tensors(layer, shape, 1);
        spoil(tensors);
        try {
            (void)reference(layer, shape, tensors);
        } catch (const LayerError& error) {
            return error.field();
        }
        return std::string("none");
    };
    EXPECT_EQ(field_refused([](HostTensors&) {}), "none");
    EXPECT_EQ(field_refused([](HostTensors& t) { t.x.pop_back(); }), "x");
    EXPECT_EQ(field_refused([](HostTensors& t) { t.w.push_back(0); }), "w");
    EXPECT_EQ(field_refused([](HostTensors& t) { t.bias.resize(2); }), "bias");
    EXPECT_EQ(field_refused([](HostTensors& t) { t.residual = {1}; }), "residual");
    EXPECT_EQ(field_refused([](HostTensors& t) { t.scale = {1}; }), "scale");
    EXPECT_EQ(field_refused([](HostTensors& t) { t.shift = {1}; }), "shift");
}

}  // namespace
}  // namespace convt_jit
