// RandomLayer: valid layers drawn from a seed, all axes different, every field in use now and then.
#pragma once

#include "convt_jit/layer.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace convt_jit {

class RandomLayers {
public:
    explicit RandomLayers(std::uint64_t seed) : random_(seed) {}

    [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
    }
    [[nodiscard]] bool chance(int percent) { return between(1, 100) <= percent; }

    // Small enough for a host reference: some hundred outputs per plane.
    [[nodiscard]] Layer draw() {
        const auto rank = static_cast<int>(between(1, 3));
        const std::int64_t groups = chance(50) ? 1 : between(2, 4);
        Layer layer = Layer::make(groups * between(1, 5), groups * between(1, 5), Dims::filled(rank, 1));
        layer.groups = groups;
        layer.input = Dims::filled(rank, 1);
        for (int axis = 0; axis < rank; ++axis) draw_axis(layer, axis, rank == 3 ? 4 : rank == 2 ? 7 : 30);
        layer.batch = between(1, 3);
        layer.bias = chance(50);
        layer.dtype = static_cast<DType>(between(0, 2));
        if (layer.dtype == DType::f32 && chance(30)) layer.precision = Precision::tf32;
        if (chance(40)) layer.layout = Layout::channels_last;
        draw_epilogue(layer.epilogue);
        return layer;
    }

private:
    void draw_axis(Layer& layer, int axis, std::int64_t longest) {
        layer.kernel[axis] = between(1, 5);
        layer.stride[axis] = between(1, 4);
        layer.dilation[axis] = between(1, 3);
        layer.output_padding[axis] = between(0, std::max(layer.stride[axis], layer.dilation[axis]) - 1);
        layer.input[axis] = between(1, longest);
        const std::int64_t whole = (layer.input[axis] - 1) * layer.stride[axis] +
                                   layer.dilation[axis] * (layer.kernel[axis] - 1) + layer.output_padding[axis] + 1;
        layer.pad_begin[axis] = between(0, std::min<std::int64_t>(whole - 1, 6));
        layer.pad_end[axis] = between(0, std::min<std::int64_t>(whole - 1 - layer.pad_begin[axis], 6));
    }

    void draw_epilogue(Epilogue& epilogue) {
        if (chance(50)) return;
        epilogue.activation = static_cast<Activation>(between(0, 7));
        if (chance(50)) epilogue.negative_slope = number();
        if (chance(30)) epilogue.scale = number();
        epilogue.affine = chance(30);
        epilogue.residual = chance(30);
        if (chance(30)) {
            const float a = number(), b = number();
            epilogue.clamp = {std::min(a, b), std::max(a, b)};
        }
    }

    float number() { return static_cast<float>(between(-3000000, 3000000)) / 1234567.0F; }

    std::mt19937_64 random_;  // its values are fixed by the standard, unlike those of the distributions
};

}  // namespace convt_jit
