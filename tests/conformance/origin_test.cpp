// The kernels that this project started from each misread the definition in one way. For each way: a layer on which it
// shows, the misreading itself as a few lines on the host, and the library, which must follow the definition instead.

#include "conformance/check.h"
#include "conformance/subject.h"

#include <gtest/gtest.h>

#include <cmath>

namespace convt_jit::test {
namespace {

using Index = std::int64_t;

// The definition, output by output, with each of its decisions open to be taken wrongly. Channels-first, with bias.
struct Formula {
    // Input index that tap k of output o reads; -1: none.
    Index (*input)(const Layer&, int axis, Index o, Index k) = [](const Layer& l, int a, Index o, Index k) {
        const Index at = o + l.pad_begin[a] - k * l.dilation[a];
        return at >= 0 && at % l.stride[a] == 0 ? at / l.stride[a] : Index{-1};
    };
    // Whether input channel c feeds output channel m.
    bool (*connected)(const Layer&, Index c, Index m) = [](const Layer& l, Index c, Index m) {
        return c / l.in_channels_per_group() == m / l.out_channels_per_group();
    };
    // Filter of that pair, in units of a whole kernel.
    Index (*filter)(const Layer&, Index c, Index m) = [](const Layer& l, Index c, Index m) {
        return c * l.out_channels_per_group() + m % l.out_channels_per_group();
    };
};

std::vector<double> gather(const Layer& layer, const Shape& shape, const HostTensors& t, const Formula& formula) {
    const Dims in = shape.input, out = output_size(layer, in);
    const Index kernel = layer.kernel[0] * layer.kernel[1];
    std::vector<double> y;
    for (Index n = 0; n < shape.batch; ++n)
        for (Index m = 0; m < layer.out_channels; ++m)
            for (Index oh = 0; oh < out[0]; ++oh)
                for (Index ow = 0; ow < out[1]; ++ow) {
                    double sum = t.bias[static_cast<std::size_t>(m)];
                    for (Index k = 0; k < kernel; ++k) {
                        const Index ih = formula.input(layer, 0, oh, k / layer.kernel[1]);
                        const Index iw = formula.input(layer, 1, ow, k % layer.kernel[1]);
                        if (ih < 0 || iw < 0 || ih >= in[0] || iw >= in[1]) continue;
                        for (Index c = 0; c < layer.in_channels; ++c) {
                            if (!formula.connected(layer, c, m)) continue;
                            sum +=
                                t.x[static_cast<std::size_t>(((n * layer.in_channels + c) * in[0] + ih) * in[1] + iw)] *
                                t.w[static_cast<std::size_t>(formula.filter(layer, c, m) * kernel + k)];
                        }
                    }
                    y.push_back(sum);
                }
    return y;
}

// The library follows the definition on the layer, and `wrong` would have been noticed there.
void expect_definition(const std::string& text, const Formula& wrong) {
    CONVT_SUBJECT(device);
    const Layer layer = parse_layer(text);
    const Shape shape = known_shape(layer);
    const HostTensors tensors = random_tensors(layer, shape, 1);
    const std::vector<double> want = reference(layer, shape, tensors);
    ASSERT_EQ(differences(layer, gather(layer, shape, tensors, Formula{}), want), "")
        << "the formula before it is bent";

    const std::vector<double> got = run(engine(), device, layer, shape, tensors);
    EXPECT_EQ(differences(layer, got, want), "") << text;
    const Errors from_wrong = compare(got, gather(layer, shape, tensors, wrong));
    EXPECT_GT(from_wrong.rel_l2, 0.1) << "the layer does not tell the two formulas apart: " << text;
}

TEST(Origin, StrideMustDivideWithoutRemainder) {
    Formula wrong;
    wrong.input = [](const Layer& l, int a, Index o, Index k) {
        const Index at = o + l.pad_begin[a] - k * l.dilation[a];
        return at >= 0 ? at / l.stride[a] : Index{-1};
    };
    expect_definition("n2 c5 o4 in6x7 k3x4 s2x3 p1x0 bias", wrong);
}

TEST(Origin, PaddingCropsOnce) {
    Formula wrong;
    wrong.input = [](const Layer& l, int a, Index o, Index k) {
        const Index at = o + 2 * l.pad_begin[a] - k * l.dilation[a];
        return at >= 0 && at % l.stride[a] == 0 ? at / l.stride[a] : Index{-1};
    };
    expect_definition("n2 c5 o4 in6x7 k3x4 s2x3 p1x2 bias", wrong);
}

TEST(Origin, OutputPaddingOnlyLengthensTheEnd) {
    Formula wrong;
    wrong.input = [](const Layer& l, int a, Index o, Index k) {
        const Index at = o + l.pad_begin[a] - l.output_padding[a] - k * l.dilation[a];
        return at >= 0 && at % l.stride[a] == 0 ? at / l.stride[a] : Index{-1};
    };
    expect_definition("n2 c5 o4 in6x7 k3x4 s2x3 p1x2 op1x2 bias", wrong);
}

TEST(Origin, GroupsAreContiguousBlocksOfChannels) {
    Formula wrong;
    wrong.connected = [](const Layer& l, Index c, Index m) { return c % l.groups == m % l.groups; };
    expect_definition("n2 c6 o9 in6x7 k3x4 s2x3 p1x2 g3 bias", wrong);
}

TEST(Origin, WeightsLieInputChannelFirst) {
    Formula wrong;  // (O, C/groups, *kernel), as a convolution has them
    wrong.filter = [](const Layer& l, Index c, Index m) {
        return m * l.in_channels_per_group() + c % l.in_channels_per_group();
    };
    expect_definition("n2 c6 o9 in6x7 k3x4 s2x3 p1x2 g3 bias", wrong);
}

}  // namespace
}  // namespace convt_jit::test
