// reference: the definition read literally, one output after the other, sums and output in f64. It shares
// no index arithmetic with the other families, so that it can judge them. y is an f64 tensor.

struct Pixel {
    long long d, h, w;
};

__device__ __forceinline__ long long offset_of(const long long (&size)[3], long long n, long long channels,
                                               long long channel, const Pixel& at) {
    if (layer::CHANNELS_LAST) return (((n * size[0] + at.d) * size[1] + at.h) * size[2] + at.w) * channels + channel;
    return (((n * channels + channel) * size[0] + at.d) * size[1] + at.h) * size[2] + at.w;
}

// The input position that a tap reads for output o, or -1: (o + pad - k*dilation) must be an exact multiple of the stride.
__device__ __forceinline__ long long source(long long o, int k, int stride, int pad, int dilation, long long size) {
    const long long numerator = o + pad - (long long)k * dilation;
    if (numerator < 0 || numerator % stride != 0 || numerator / stride >= size) return -1;
    return numerator / stride;
}

extern "C" __global__ void __launch_bounds__(plan::THREADS) CONVT_ENTRY(const __grid_constant__ ConvtArgs args) {
    const Element* const x = static_cast<const Element*>(args.x);
    const Element* const weights = static_cast<const Element*>(args.w);
    double* const y = static_cast<double*>(args.y);
    const long long pixels = args.out[0] * args.out[1] * args.out[2];
    const long long total = args.batch * layer::OUT_CHANNELS * pixels;
    const long long i = (args.first_block[0] + blockIdx.x) * plan::THREADS + threadIdx.x;
    if (i >= total) return;
    const long long pixel = i % pixels, channel = i / pixels % layer::OUT_CHANNELS, n = i / pixels / layer::OUT_CHANNELS;
    const Pixel o = {pixel / (args.out[1] * args.out[2]), pixel / args.out[2] % args.out[1], pixel % args.out[2]};
    const int group = int(channel) / layer::OUT_PER_GROUP;
    double sum = 0;
    bool any = false;
    for (int kd = 0; kd < layer::KERNEL_D; ++kd) {
        const long long id = source(o.d, kd, layer::STRIDE_D, layer::PAD_D, layer::DILATION_D, args.in[0]);
        if (id < 0) continue;
        for (int kh = 0; kh < layer::KERNEL_H; ++kh) {
            const long long ih = source(o.h, kh, layer::STRIDE_H, layer::PAD_H, layer::DILATION_H, args.in[1]);
            if (ih < 0) continue;
            for (int kw = 0; kw < layer::KERNEL_W; ++kw) {
                const long long iw = source(o.w, kw, layer::STRIDE_W, layer::PAD_W, layer::DILATION_W, args.in[2]);
                if (iw < 0) continue;
                any = true;
                for (int c = 0; c < layer::IN_PER_GROUP; ++c) {
                    const long long in_channel = (long long)group * layer::IN_PER_GROUP + c;
                    const long long at = offset_of(args.in, n, layer::IN_CHANNELS, in_channel, {id, ih, iw});
                    const long long weight =
                        (((in_channel * layer::OUT_PER_GROUP + channel % layer::OUT_PER_GROUP) * layer::KERNEL_D + kd) *
                             layer::KERNEL_H + kh) * layer::KERNEL_W + kw;
                    sum += double(to_float(load_global(x + at))) * double(to_float(load_global(weights + weight)));
                }
            }
        }
    }
    if (!any) sum = layer::HAS_BIAS ? -0.0 : 0.0;  // exactly the bias, a negative zero included
    const long long at = offset_of(args.out, n, layer::OUT_CHANNELS, channel, o);
    store_global(y + at, epilogue(sum, epilogue_channel(args, int(channel)), double(epilogue_residual(args, at))));
}
