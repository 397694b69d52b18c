// Reduce: the kernel that adds the partial sums of plan::SPLIT blocks, always in the same order, and finishes the
// outputs. They lie in args.workspace as [part][sample][channel][position] in f32, whatever y is made of.

static_assert(plan::SPLIT > 1 && !layer::CHANNELS_LAST, "parts of channels-first outputs");

template <int WIDE>
__device__ __forceinline__ void reduce(const ConvtArgs& args, long long at, long long all, long long plane) {
    constexpr int PIECE = WIDE < 4 ? WIDE : 4;
    using Piece = Vector<float, PIECE>;
    float sums[WIDE];
#pragma unroll 4
    for (int part = 0; part < plan::SPLIT; ++part)
#pragma unroll
        for (int i = 0; i < WIDE; i += PIECE) {
            const Piece values = load_global(reinterpret_cast<const Piece*>(args.workspace + part * all + at + i));
#pragma unroll
            for (int e = 0; e < PIECE; ++e) sums[i + e] = part == 0 ? values[e] : sums[i + e] + values[e];
        }
    const bool narrow = all <= 0xffffffff;
    const long long row = narrow ? (long long)(unsigned(at) / unsigned(plane)) : at / plane;
    store_finished<WIDE>(args, at, sums, epilogue_channel(args, int(row % layer::OUT_CHANNELS)));
}

// A block finishes 256 vectors of y: as such, or one element after the other where they are not aligned or may lie in two
// channels.
extern "C" __global__ void __launch_bounds__(256) CONVT_REDUCE_ENTRY(const __grid_constant__ ConvtArgs args) {
    const long long plane = args.out[0] * args.out[1] * args.out[2], all = args.batch * layer::OUT_CHANNELS * plane;
    const long long first = (args.first_block[0] + blockIdx.x) * (256 * VECTOR);
    const void* const residual = layer::RESIDUAL ? args.residual : args.y;
    const unsigned long long misplaced = (unsigned long long)args.y | (unsigned long long)residual;
    if (plane % VECTOR == 0 && misplaced % 16 == 0) {
        const long long at = first + threadIdx.x * VECTOR;
        if (at < all) reduce<VECTOR>(args, at, all, plane);
        return;
    }
#pragma unroll 1
    for (int i = 0; i < VECTOR; ++i) {
        const long long at = first + i * 256 + threadIdx.x;
        if (at < all) reduce<1>(args, at, all, plane);
    }
}
