// implicit_gemm_sm90: lines, as which outputs leave that have a residual: sums pass through a slab as they are.

// Sums of 8 channels and one pass as runs of outputs, column phases side by side. Where one is not finite, `probe` becomes
// NaN. zero: which the compiler does not know, so that it does not bring the sums of all passes into this order before
// the first, for which it has no registers.
template <int HALF, int PASS>
__device__ __forceinline__ void write_slab(float* target, const Sums& sums, unsigned zero, float& probe) {
    constexpr int RUN = 2 * SW, V = widest(RUN, 4);
#pragma unroll
    for (int tile = 0; tile < PASS_TILES; ++tile) {
        const int n = PASS * PASS_TILES + tile;
        float run[RUN];
        static_for<0, RUN>([&](auto at) {
            constexpr int E = decltype(at)::value / SW, R = decltype(at)::value % SW;
            if constexpr (Horizontal::used(R)) {
                run[at] = sums[Horizontal::rank(R)][n / RUN_TILES][n % RUN_TILES * 4 + 2 * HALF + E];
                if constexpr (SW > 1) run[at] = __uint_as_float(__float_as_uint(run[at]) ^ zero);
                if constexpr (REPAIRED) probe = fmaf(run[at], 0.0f, probe);
            } else {
                run[at] = EXACT_ZERO;
            }
        });
#pragma unroll
        for (int i = 0; i < RUN; i += V) {
            Vector<float, V> v;
#pragma unroll
            for (int e = 0; e < V; ++e) v[e] = run[i + e];
            *reinterpret_cast<Vector<float, V>*>(target + tile * (8 * SW) + i) = v;
        }
    }
}

// Where the `piece`-th piece of a warpgroup's positions begins, from its first row and column on.
__device__ __forceinline__ void find_piece(int piece, int& row, int& column) {
    row = piece * PIECE_TILES / LINE_TILES, column = piece * PIECE_TILES % LINE_TILES * 8;
}

// Of the product row that is lane % 16 of the warp's.
__device__ __forceinline__ EpilogueChannel finish_of(const ConvtArgs& args, const Work& work, const Part& part) {
    EpilogueChannel finish;
    const int channel = channel_of(part.product_row + threadIdx.x % 16);
    if ((layer::HAS_BIAS || layer::AFFINE) && channel < work.channels)
        finish = epilogue_channel(args, work.channel + channel);
    return finish;
}

// That of another lane. All lanes of the warp must come by.
__device__ __forceinline__ EpilogueChannel finish_at(const EpilogueChannel& finish, int row) {
    EpilogueChannel other;
    if constexpr (layer::HAS_BIAS) other.bias = __shfl_sync(0xffffffff, finish.bias, row % 16);
    if constexpr (layer::AFFINE) {
        other.scale = __shfl_sync(0xffffffff, finish.scale, row % 16);
        other.shift = __shfl_sync(0xffffffff, finish.shift, row % 16);
    }
    return other;
}

// The sums of a slab, a line at a time by as many threads as it has vectors: wherever lines begin, whole vectors leave, and
// single elements before and behind them.
__device__ __forceinline__ void store_slab(const ConvtArgs& args, const Work& work, const EpilogueChannel& finish,
                                           const Part& part, int turn, const float* slab) {
    constexpr int LANES = PIECE / VECTOR < 32 ? floor_power_of_two(PIECE / VECTOR > 0 ? PIECE / VECTOR : 1) : 32;
    const int half = turn / PASSES, pass = turn % PASSES, lane = threadIdx.x % 32;
    const int line = line_of(work, part.product_row + half * 8), channel = channel_of(part.product_row + half * 8);
    const bool some = !FOLDED || line < plan::FOLD;
#pragma unroll 1
    for (int i = 0; i < 8 * PASS_PIECES; i += 32 / LANES) {
        const int own = i + lane / LANES, o = own / PASS_PIECES, piece = own % PASS_PIECES;
        const EpilogueChannel parts = finish_at(finish, half * 8 + o);
        int h, w;
        find_piece(pass * PASS_PIECES + piece, h, w);
        const index_t out_h = out_row(work, part.row + h, line), first = index_t(work.q_w + part.column + w) * SW;
        const int c = channel + o;
        if (own >= 8 * PASS_PIECES || !some || out_h >= work.out_height || c >= work.channels ||
            first >= work.out_width || !has_image(work, part.row + h))
            continue;
        const int count = int(min(index_t(PIECE), work.out_width - first));
        const long long at = work.y + line_offset(work, part.row + h, c, out_h) + first;
        store_line<ceil_div(PIECE, LANES * VECTOR)>(args, at, count, lane % LANES, LANES, parts,
                                                    SlabRow{slab + o * SLAB_PITCH + piece * PIECE});
    }
}

// Those of one slab that are NaN, by the definition.
__device__ __forceinline__ void repair_slab(const Work& work, const Part& part, int turn, float* slab) {
    const int half = turn / PASSES, pass = turn % PASSES;
    const int line = line_of(work, part.product_row + half * 8), channel = channel_of(part.product_row + half * 8);
#pragma unroll 1
    for (int i = threadIdx.x % 32; i < 8 * PASS_PIECES * PIECE; i += 32) {
        const int o = i / (PASS_PIECES * PIECE), own = channel + o;
        int h, w;
        find_piece(pass * PASS_PIECES + i / PIECE % PASS_PIECES, h, w);
        const index_t at = index_t(work.q_w + part.column + w) * SW + i % PIECE;
        float& sum = slab[o * SLAB_PITCH + i % (PASS_PIECES * PIECE)];
        if (sum != sum && (!FOLDED || line < plan::FOLD) && own < work.channels && at < work.out_width &&
            has_image(work, part.row + h))
            sum = plain_sum(work, image_of(part.row + h), own, out_row(work, part.row + h, line), at);
    }
    __syncwarp();
}

// With a residual, sums go to the slab as they are, and are finished on their way out, where it is read. T: Element, and of
// what does not serve nothing is compiled.
template <class T>
__device__ __forceinline__ void store_sums(const ConvtArgs& args, const Work& work, const Part& part,
                                           const T (&sums)[COLUMN_SETS][RUNS][RUN_SUMS]) {
    const EpilogueChannel finish = finish_of(args, work, part);
    const int lane = threadIdx.x % 32;
    float* const slab = reinterpret_cast<float*>(slab_of(threadIdx.x / 32));
    float* const target = slab + lane / 4 * SLAB_PITCH + lane % 4 * (2 * SW);
#pragma unroll 1
    for (int turn = 0; turn < SLABS; ++turn) {  // the code that stores is there once
        const unsigned zero = args.batch < 0 ? turn : 0;
        [[maybe_unused]] float probe = 0;
        static_for<0, SLABS>([&](auto t) {
            if (turn == t) write_slab<decltype(t)::value / PASSES, decltype(t)::value % PASSES>(target, sums, zero, probe);
        });
        __syncwarp();
        if constexpr (REPAIRED)
            if (__any_sync(0xffffffff, probe != 0.0f)) repair_slab(work, part, turn, slab);  // NaN, and so are those
        store_slab(args, work, finish, part, turn, slab);
        __syncwarp();
    }
}
