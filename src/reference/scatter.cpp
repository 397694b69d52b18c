#include "reference/scatter.h"

#include "convt_jit/error.h"
#include "reference/activation.h"
#include "reference/parallel.h"

#include <algorithm>
#include <array>
#include <string>

namespace convt_jit {
namespace {

using Three = std::array<std::int64_t, 3>;

std::int64_t volume(const Three& size) { return size[0] * size[1] * size[2]; }

// A layer and its sizes with three axes: missing ones lead, with one element and one tap.
struct Problem {
    const Layer& layer;
    std::int64_t batch;
    Three input{1, 1, 1}, output{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, padding{0, 0, 0};

    Problem(const Layer& of, const Shape& shape) : layer(of), batch(shape.batch) {
        const auto place = [](const Dims& dims, Three& three) {
            std::copy(dims.begin(), dims.end(), three.end() - dims.rank());
        };
        place(shape.input, input);
        place(output_size(layer, shape.input), output);
        place(layer.kernel, kernel);
        place(layer.stride, stride);
        place(layer.dilation, dilation);
        place(layer.pad_begin, padding);
    }
};

// The output position that an input position reaches through a tap, on one axis; it may lie outside the output.
std::int64_t reached(const Problem& p, std::size_t axis, std::int64_t i, std::int64_t tap) {
    return i * p.stride[axis] + tap * p.dilation[axis] - p.padding[axis];
}

bool inside(const Problem& p, std::size_t axis, std::int64_t o) { return o >= 0 && o < p.output[axis]; }

// While sums are made, a row of outputs is kept in the order of its phases, r = o % stride: what a tap reaches then
// lies side by side. Here is where phase r begins.
std::int64_t phase_begin(const Problem& p, std::int64_t r) {
    return r * (p.output[2] / p.stride[2]) + std::min(r, p.output[2] % p.stride[2]);
}

// Some input channels of one group, each with the taps to one output channel.
template <std::size_t kCount>
struct Channels {
    std::array<const double*, kCount> x, w;
};

// y[reached(i)] += x[i]*w along the innermost axis, channel after channel.
template <std::size_t kCount>
void scatter_row(const Problem& p, const Channels<kCount>& row, std::int64_t tap, double* y) {
    const std::int64_t stride = p.stride[2], first = reached(p, 2, 0, tap);
    const std::int64_t begin = first >= 0 ? 0 : (-first + stride - 1) / stride;
    const std::int64_t past = p.output[2] - first;  // positions before the end of the row
    const std::int64_t end = std::min(p.input[2], past <= 0 ? 0 : (past + stride - 1) / stride);
    const std::int64_t r = (first % stride + stride) % stride;
    const std::int64_t target = phase_begin(p, r) + (first - r) / stride;
    std::array<double, kCount> w;
    for (std::size_t c = 0; c < kCount; ++c) w[c] = row.w[c][tap];
    for (std::int64_t i = begin; i < end; ++i) {
        double sum = y[target + i];
        for (std::size_t c = 0; c < kCount; ++c) sum += row.x[c][i] * w[c];
        y[target + i] = sum;
    }
}

// Adds the planes of some input channels into the plane of one output channel.
template <std::size_t kCount>
void scatter_planes(const Problem& p, const Channels<kCount>& planes, double* y) {
    for (std::int64_t i0 = 0; i0 < p.input[0]; ++i0)
        for (std::int64_t i1 = 0; i1 < p.input[1]; ++i1)
            for (std::int64_t k0 = 0; k0 < p.kernel[0]; ++k0) {
                const std::int64_t o0 = reached(p, 0, i0, k0);
                if (!inside(p, 0, o0)) continue;
                for (std::int64_t k1 = 0; k1 < p.kernel[1]; ++k1) {
                    const std::int64_t o1 = reached(p, 1, i1, k1);
                    if (!inside(p, 1, o1)) continue;
                    Channels<kCount> row = planes;
                    for (const double*& x : row.x) x += (i0 * p.input[1] + i1) * p.input[2];
                    for (const double*& w : row.w) w += (k0 * p.kernel[1] + k1) * p.kernel[2];
                    double* const target = y + (o0 * p.output[1] + o1) * p.output[2];
                    for (std::int64_t k2 = 0; k2 < p.kernel[2]; ++k2) scatter_row(p, row, k2, target);
                }
            }
}

double finished(const Layer& layer, const HostTensors& tensors, std::size_t channel, const double* residual,
                double value) {
    const Epilogue& epilogue = layer.epilogue;
    if (layer.bias) value += tensors.bias[channel];
    if (epilogue.scale) value *= *epilogue.scale;
    if (epilogue.affine) value = value * tensors.scale[channel] + tensors.shift[channel];
    if (epilogue.residual) value += *residual;
    return clamped(epilogue, activate(epilogue, value));
}

// Applies the epilogue and puts the rows in order.
void finish_plane(const Problem& p, const HostTensors& tensors, std::int64_t channel, const double* residual,
                  double* y) {
    std::vector<double> sums(static_cast<std::size_t>(p.output[2]));
    for (std::int64_t row = 0; row < p.output[0] * p.output[1]; ++row) {
        double* const target = y + row * p.output[2];
        std::copy_n(target, p.output[2], sums.begin());
        const double* sum = sums.data();
        for (std::int64_t r = 0; r < p.stride[2]; ++r)
            for (std::int64_t o = r; o < p.output[2]; o += p.stride[2])
                target[o] = finished(p.layer, tensors, static_cast<std::size_t>(channel),
                                     residual == nullptr ? nullptr : residual + row * p.output[2] + o, *sum++);
    }
}

// (n, rows, columns) to (n, columns, rows): from one layout to the other.
std::vector<double> transposed(const std::vector<double>& from, std::int64_t n, std::int64_t rows, std::int64_t columns,
                               int threads) {
    std::vector<double> to(from.size());
    parallel_for(n * columns, threads, [&](std::int64_t i) {
        const double* const source = from.data() + i / columns * rows * columns + i % columns;
        double* const target = to.data() + i * rows;
        for (std::int64_t row = 0; row < rows; ++row) target[row] = source[row * columns];
    });
    return to;
}

void check_size(const char* name, const std::vector<double>& tensor, std::int64_t wanted) {
    if (static_cast<std::int64_t>(tensor.size()) != wanted)
        throw LayerError(name, std::to_string(tensor.size()) + " elements", std::to_string(wanted) + " elements");
}

void check_sizes(const Layer& layer, const Sizes& size, const HostTensors& tensors) {
    check_size("x", tensors.x, size.x);
    check_size("w", tensors.w, size.w);
    check_size("bias", tensors.bias, layer.bias ? size.channels : 0);
    check_size("residual", tensors.residual, layer.epilogue.residual ? size.y : 0);
    check_size("scale", tensors.scale, layer.epilogue.affine ? size.channels : 0);
    check_size("shift", tensors.shift, layer.epilogue.affine ? size.channels : 0);
}

}  // namespace

std::vector<double> scatter(const Layer& layer, const Shape& shape, const HostTensors& tensors, int threads) {
    const Sizes size = sizes(layer, shape);
    check_sizes(layer, size, tensors);
    const Problem p(layer, shape);
    const bool last = layer.layout == Layout::channels_last;
    const std::int64_t in_plane = volume(p.input), out_plane = volume(p.output), taps = volume(p.kernel);
    const std::int64_t ins = layer.in_channels_per_group(), outs = layer.out_channels_per_group();

    std::vector<double> planes_of_x, planes_of_residual;
    if (last) {
        planes_of_x = transposed(tensors.x, p.batch, in_plane, layer.in_channels, threads);
        if (layer.epilogue.residual)
            planes_of_residual = transposed(tensors.residual, p.batch, out_plane, layer.out_channels, threads);
    }
    const double* const x = last ? planes_of_x.data() : tensors.x.data();
    const double* const residual = last ? planes_of_residual.data() : tensors.residual.data();

    std::vector<double> y(static_cast<std::size_t>(size.y), 0.0);
    parallel_for(p.batch * layer.out_channels, threads, [&](std::int64_t plane) {
        const std::int64_t n = plane / layer.out_channels, o = plane % layer.out_channels;
        const std::int64_t first_in = o / outs * ins;
        double* const target = y.data() + plane * out_plane;
        const auto x_of = [&](std::int64_t c) { return x + (n * layer.in_channels + c) * in_plane; };
        const auto w_of = [&](std::int64_t c) { return tensors.w.data() + (c * outs + o % outs) * taps; };
        std::int64_t c = first_in;
        for (; c + 4 <= first_in + ins; c += 4)
            scatter_planes<4>(
                p, {{x_of(c), x_of(c + 1), x_of(c + 2), x_of(c + 3)}, {w_of(c), w_of(c + 1), w_of(c + 2), w_of(c + 3)}},
                target);
        for (; c < first_in + ins; ++c) scatter_planes<1>(p, {{x_of(c)}, {w_of(c)}}, target);
        finish_plane(p, tensors, o, layer.epilogue.residual ? residual + plane * out_plane : nullptr, target);
    });
    return last ? transposed(y, p.batch, layer.out_channels, out_plane, threads) : y;
}

std::vector<double> reference(const Layer& layer, const Shape& shape, const HostTensors& tensors) {
    return scatter(layer, shape, tensors, hardware_threads());
}

}  // namespace convt_jit
