#include "conformance/random_layer.h"

#include "conformance/check.h"

#include <algorithm>
#include <random>

namespace convt_jit::test {
namespace {

// Draws by the generator alone: the standard's distributions differ between libraries.
class Draw {
public:
    explicit Draw(std::uint64_t seed) : generator_(seed) {}
    [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(high - low + 1));
    }
    [[nodiscard]] bool one_in(std::int64_t n) { return between(1, n) == 1; }
    [[nodiscard]] float number(float low, float high) {
        return low + (high - low) * static_cast<float>(between(0, 64)) / 64.0f;
    }
    // Values that differ from axis to axis wherever the range has enough of them.
    [[nodiscard]] Dims unequal(int rank, std::int64_t low, std::int64_t high) {
        Dims dims = Dims::filled(rank, low);
        for (int axis = 0; axis < rank; ++axis) {
            for (int attempt = 0; attempt < 8; ++attempt) {
                dims[axis] = between(low, high);
                if (std::find(dims.begin(), dims.begin() + axis, dims[axis]) == dims.begin() + axis) break;
            }
        }
        return dims;
    }

private:
    std::mt19937_64 generator_;
};

void draw_channels(Draw& draw, Layer& layer) {
    layer.groups = draw.one_in(2) ? 1 : draw.between(2, 6);
    const bool depthwise = layer.groups > 1 && draw.one_in(3);
    layer.in_channels = layer.groups * (depthwise ? 1 : draw.between(1, draw.one_in(4) ? 40 : 9));
    layer.out_channels = layer.groups * (depthwise ? draw.between(1, 2) : draw.between(1, draw.one_in(4) ? 24 : 9));
}

Epilogue draw_epilogue(Draw& draw) {
    Epilogue epilogue;
    if (draw.one_in(2))
        epilogue.activation = static_cast<Activation>(draw.between(0, static_cast<int>(Activation::hardswish)));
    if (epilogue.activation == Activation::leaky_relu) epilogue.negative_slope = draw.number(0.0f, 0.5f);
    if (draw.one_in(4)) epilogue.scale = draw.number(-2.0f, 2.0f);
    epilogue.affine = draw.one_in(4);
    epilogue.residual = draw.one_in(4);
    if (draw.one_in(4)) {
        const float low = draw.number(-1.5f, 0.5f);
        epilogue.clamp = {low, low + draw.number(0.25f, 3.0f)};
    }
    return epilogue;
}

// Crops so much that outputs near both ends vanish, but never all of them.
void draw_padding(Draw& draw, Layer& layer, const Dims& input) {
    for (int axis = 0; axis < layer.spatial_dims(); ++axis) {
        const std::int64_t reach = layer.dilation[axis] * (layer.kernel[axis] - 1);
        std::int64_t room = (input[axis] - 1) * layer.stride[axis] + reach + layer.output_padding[axis];
        layer.pad_begin[axis] = draw.one_in(3) ? 0 : draw.between(0, std::min(room, reach + 2));
        room -= layer.pad_begin[axis];
        layer.pad_end[axis] =
            draw.one_in(2) ? std::min(room, layer.pad_begin[axis]) : draw.between(0, std::min(room, reach + 2));
    }
}

RandomLayer draw_layer(Draw& draw) {
    RandomLayer result;
    const int rank = static_cast<int>(draw.between(1, 3));
    Layer layer = Layer::make(1, 1, draw.unequal(rank, 1, draw.one_in(5) ? 9 : 5));
    draw_channels(draw, layer);
    layer.stride = draw.unequal(rank, 1, 5);
    layer.dilation = draw.one_in(2) ? Dims::filled(rank, 1) : draw.unequal(rank, 1, 4);
    for (int axis = 0; axis < rank; ++axis) {
        layer.output_padding[axis] = draw.between(0, std::max(layer.stride[axis], layer.dilation[axis]) - 1);
    }
    const Dims input = draw.unequal(rank, 1, rank == 1 ? 300 : rank == 2 ? 24 : 9);
    draw_padding(draw, layer, input);
    layer.bias = draw.one_in(2);
    layer.dtype = static_cast<DType>(draw.between(0, 2));
    if (layer.dtype == DType::f32 && draw.one_in(4)) layer.precision = Precision::tf32;
    layer.layout = draw.one_in(3) ? Layout::channels_last : Layout::channels_first;
    layer.epilogue = draw_epilogue(draw);
    layer.batch = draw.between(1, 4);
    layer.input = input;
    result.layer = layer;
    result.shape = {*layer.batch, input};
    result.exact_nonfinite = draw.one_in(6);
    result.residual_is_y = draw.one_in(2);
    result.forget_sizes = draw.one_in(3);
    return result;
}

}  // namespace

RandomLayer random_layer(std::uint64_t seed, double largest) {
    Draw draw(seed);
    for (;;) {
        RandomLayer result = draw_layer(draw);
        if (products(result.layer, result.shape) <= largest) return result;
    }
}

}  // namespace convt_jit::test
