#include "convt_jit/layer.h"

namespace convt_jit {

Layer Layer::make(std::int64_t in_channels, std::int64_t out_channels, const Dims& kernel) {
    Layer layer;
    layer.in_channels = in_channels;
    layer.out_channels = out_channels;
    layer.kernel = kernel;
    layer.stride = layer.dilation = Dims::filled(kernel.rank(), 1);
    layer.pad_begin = layer.pad_end = layer.output_padding = Dims::filled(kernel.rank(), 0);
    return layer;
}

bool operator==(const Layer& a, const Layer& b) noexcept {
    return a.in_channels == b.in_channels && a.out_channels == b.out_channels && a.groups == b.groups &&
           a.kernel == b.kernel && a.stride == b.stride && a.dilation == b.dilation && a.pad_begin == b.pad_begin &&
           a.pad_end == b.pad_end && a.output_padding == b.output_padding && a.bias == b.bias && a.dtype == b.dtype &&
           a.precision == b.precision && a.layout == b.layout && a.epilogue == b.epilogue && a.batch == b.batch &&
           a.input == b.input;
}

}  // namespace convt_jit
