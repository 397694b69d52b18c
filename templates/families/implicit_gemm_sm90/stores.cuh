// implicit_gemm_sm90: stores.

// Of a row of the product: its output row among those of a position, and its channel among the block's.
__device__ __forceinline__ int line_of(const Work& work, int row) {
    return FOLDED ? row / BLOCK_CHANNELS : work.phase;
}
__device__ __forceinline__ int channel_of(int row) { return FOLDED ? row % BLOCK_CHANNELS : row; }

// Whether a tap reaches that output row of position q_h from inside the image.
__device__ __forceinline__ bool row_reached(const Work& work, int q_h, int line) {
    bool any = false;
    if constexpr (FOLDED) {
#pragma unroll 1
        for (int kh = 0; kh < KH && work.chunks > 0; ++kh)
            any = any | (meets(line, kh) &&
                         count_t(index_t(q_h * ROW_STEP + meets_at(line, kh))) < count_t(work.height));
    } else {
#pragma unroll 1
        for (int j = 0; j < work.rows.taps && work.chunks > 0; ++j)
            any = any | (count_t(index_t(q_h + work.rows.high - j * TAP_ROWS)) < count_t(work.height));
    }
    return any;
}

// What no tap inside the image reaches is exactly zero, whatever weights the zeros beyond it met. row: of the product, the
// warp's first; q_h, q_w: of the lane's first sum.
__device__ __forceinline__ void forget_unreached(const Work& work, int row, int q_h, int q_w, Sums& sums) {
    static_for<0, OWN_TILES>([&](auto tile) {
        constexpr int N = decltype(tile)::value;
        const int h = q_h + N / LINE_TILES, w = q_w + N % LINE_TILES * 8;
        const bool above = row_reached(work, h, line_of(work, row));
        const bool below = FOLDED ? row_reached(work, h, line_of(work, row + 8)) : above;
        static_for<0, SW>([&](auto rw) {
            if constexpr (Horizontal::used(rw)) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const bool column = reached<Horizontal, int(rw)>(w + e, work.width);
                    float* const four = &sums[Horizontal::rank(rw)][N / RUN_TILES][N % RUN_TILES * 4];
                    if (!(above && column)) four[e] = EXACT_ZERO;
                    if (!(below && column)) four[2 + e] = EXACT_ZERO;
                }
            }
        });
    });
}

// Sums come out as NaN where a factor cannot be split, and where weights of zero meet what is not finite.
constexpr bool REPAIRED = SPLIT || FOLDED;

// One sum by the definition, for those.
__device__ __forceinline__ float plain_sum(const Work& work, int channel, index_t line, index_t w) {
    float sum = 0;
#pragma unroll 1
    for (int d = 0; d < work.taps_d; ++d)
#pragma unroll 1
        for (int kh = 0; kh < KH; ++kh)
#pragma unroll 1
            for (int kw = 0; kw < KW; ++kw) {
                const index_t h = line + layer::PAD_H - kh * layer::DILATION_H;
                const index_t at = w + layer::PAD_W - kw * layer::DILATION_W;
                if (h < 0 || h % SH != 0 || h / SH >= work.height || at < 0 || at % SW != 0 || at / SW >= work.width)
                    continue;
                const Element* x =
                    work.x + (work.first_d - d * layer::OFFSET_STEP_D) * work.plane + h / SH * work.width + at / SW;
                const int kd = work.first_tap_d + d * layer::TAP_STEP_D;
                const Element* factor =
                    work.w + ((plan::weight_index_t(channel) * layer::KERNEL_D + kd) * KH + kh) * KW + kw;
#pragma unroll 1
                for (int c = 0; c < layer::IN_PER_GROUP; ++c) {
                    sum = fmaf(to_float(load_global(x)), to_float(load_global(factor)), sum);
                    if (sum != sum) return sum;  // and stays so
                    x += work.depth * work.plane;
                    factor += plan::weight_index_t(layer::OUT_PER_GROUP) * layer::KERNEL_D * KH * KW;
                }
            }
    return sum;
}

// Sums of 8 channels and one pass as runs of outputs, column phases side by side. Where one is not finite, `probe` becomes
// NaN. zero: which the compiler does not know, so that it does not bring the sums of all passes into this order before
// the first, for which it has no registers.
template <int HALF, int PASS>
__device__ __forceinline__ void write_slab(float* target, const Sums& sums, unsigned zero, float& probe) {
    constexpr int RUN = 2 * SW, V = widest(RUN, 4);
    static_for<0, PASS_TILES>([&](auto tile) {
        constexpr int N = PASS * PASS_TILES + decltype(tile)::value;
        float run[RUN];
        static_for<0, RUN>([&](auto at) {
            constexpr int E = decltype(at)::value / SW, R = decltype(at)::value % SW;
            if constexpr (Horizontal::used(R)) {
                run[at] = sums[Horizontal::rank(R)][N / RUN_TILES][N % RUN_TILES * 4 + 2 * HALF + E];
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
    });
}

// Where the `piece`-th piece of a warpgroup's positions begins, from its first row and column on.
__device__ __forceinline__ void find_piece(int piece, int& row, int& column) {
    row = piece * PIECE_TILES / LINE_TILES, column = piece * PIECE_TILES % LINE_TILES * 8;
}

// product_row: the warp's first; row, column: where its sums begin in the tile. finish: of the product row that is lane %
// 16 of the warp's.
__device__ __forceinline__ void store_sums(const ConvtArgs& args, const Work& work, const EpilogueChannel& finish,
                                           int product_row, int row, int column, const Sums& sums) {
    constexpr int LANES = PIECE / VECTOR < 32 ? floor_power_of_two(PIECE / VECTOR > 0 ? PIECE / VECTOR : 1) : 32;
    const int lane = threadIdx.x % 32;
    float* const slab = reinterpret_cast<float*>(shared_memory() + SLABS_AT) + threadIdx.x / 32 * SLAB;
    float* const target = slab + lane / 4 * SLAB_PITCH + lane % 4 * (2 * SW);
#pragma unroll 1
    for (int turn = 0; turn < 2 * PASSES; ++turn) {  // the code that stores is there once
        const int half = turn / PASSES, pass = turn % PASSES;
        // 8 rows of the product are of one output row.
        const int line = line_of(work, product_row + half * 8), channel = channel_of(product_row + half * 8);
        const bool exists = !FOLDED || line < plan::FOLD;
        const unsigned zero = args.batch < 0 ? turn : 0;
        [[maybe_unused]] float probe = 0;
        static_for<0, 2 * PASSES>([&](auto t) {
            if (turn == t) write_slab<decltype(t)::value / PASSES, decltype(t)::value % PASSES>(target, sums, zero, probe);
        });
        __syncwarp();
        if constexpr (REPAIRED) {
            if (__any_sync(0xffffffff, probe != 0.0f)) {  // NaN, and so are all that are not finite
#pragma unroll 1
                for (int i = lane; i < 8 * PASS_PIECES * PIECE; i += 32) {
                    const int o = i / (PASS_PIECES * PIECE), own = channel + o;
                    int h, w;
                    find_piece(pass * PASS_PIECES + i / PIECE % PASS_PIECES, h, w);
                    const index_t at = index_t(work.q_w + column + w) * SW + i % PIECE;
                    float& sum = slab[o * SLAB_PITCH + i % (PASS_PIECES * PIECE)];
                    if (sum != sum && exists && own < work.channels && at < work.out_width)
                        sum = plain_sum(work, own, index_t(work.q_h + row + h) * LINES + line, at);
                }
                __syncwarp();
            }
        }
#pragma unroll 1
        for (int i = 0; i < 8 * PASS_PIECES; i += 32 / LANES) {
            const int own = i + lane / LANES, o = own / PASS_PIECES, piece = own % PASS_PIECES;
            EpilogueChannel parts;
            if constexpr (layer::HAS_BIAS) parts.bias = __shfl_sync(0xffffffff, finish.bias, (half * 8 + o) % 16);
            if constexpr (layer::AFFINE) {
                parts.scale = __shfl_sync(0xffffffff, finish.scale, (half * 8 + o) % 16);
                parts.shift = __shfl_sync(0xffffffff, finish.shift, (half * 8 + o) % 16);
            }
            int h, w;
            find_piece(pass * PASS_PIECES + piece, h, w);
            const index_t out_h = index_t(work.q_h + row + h) * LINES + line;
            const index_t first = index_t(work.q_w + column + w) * SW;
            const int c = channel + o;
            if (own >= 8 * PASS_PIECES || !exists || out_h >= work.out_height || c >= work.channels ||
                first >= work.out_width)
                continue;
            const int count = int(min(index_t(PIECE), work.out_width - first));
            const long long at = work.y + c * (long long)work.out_plane + (long long)out_h * work.out_width + first;
            store_line<ceil_div(PIECE, LANES * VECTOR)>(args, at, count, lane % LANES, LANES, parts,
                                                        SlabRow{slab + o * SLAB_PITCH + piece * PIECE});
        }
        __syncwarp();
    }
}

__device__ __forceinline__ void store_tile(const ConvtArgs& args, const Work& work, int product_row, int row, int column,
                                           Sums& sums) {
    const int lane = threadIdx.x % 32, channel = channel_of(product_row + lane % 16);
    EpilogueChannel finish;
    if ((layer::HAS_BIAS || layer::AFFINE) && channel < work.channels)
        finish = epilogue_channel(args, work.channel + channel);
    constexpr bool EMPTY_LINES = FOLDED && Vertical::used() < SH;  // output rows of a position that have no taps
    if (work.chunks == 0 || EMPTY_LINES ||
        (!(layer::ALL_REACHED_H && layer::ALL_REACHED_W) &&
         !(all_reached<Vertical, layer::OFFSET_STEP_H>(work.q_h * ROW_STEP, plan::POSITIONS_H * ROW_STEP, work.height,
                                                       work.out_height) &&
           all_reached<Horizontal, layer::OFFSET_STEP_W>(work.q_w, plan::POSITIONS_W, work.width, work.out_width))))
        forget_unreached(work, product_row, work.q_h + row, work.q_w + column + lane % 4 * 2, sums);
    store_sums(args, work, finish, product_row, row, column, sums);
}
