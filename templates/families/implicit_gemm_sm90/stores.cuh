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

// What a warp has of a tile: its first row of the product, and the first row and column of its warpgroup's positions.
struct Part {
    int product_row, row, column;
};
__device__ __forceinline__ Part part_of(int group, int warp) {
    const int group_m = group % plan::GROUPS_M, group_n = group / plan::GROUPS_M;
    return {group_m * 64 + warp * 16, TALL ? group_n * OWN_TILES : group_n * OWN_TILES / ROW_TILES,
            TALL ? 0 : group_n * OWN_TILES % ROW_TILES * 8};
}
// A consuming warp's first slab.
__device__ __forceinline__ float* slab_of(int warp) {
    return reinterpret_cast<float*>(shared_memory() + SLABS_AT) + warp * (OWN_SLABS * SLAB);
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

// Outputs of a slab, V neighbours of a line (a piece of an output row and channel) to a thread, and a few of those at a time.
template <int V>
__device__ __forceinline__ void store_slab_by(const ConvtArgs& args, const Work& work, const EpilogueChannel& finish,
                                              const Part& part, int turn, const float* slab) {
    constexpr int LINES_OF_SLAB = 8 * PASS_PIECES, OF_LINE = PIECE / V, TURNS = ceil_div(LINES_OF_SLAB * OF_LINE, 32);
    constexpr int BATCH = !STORERS ? 1 : V == 8 || REPAIRED ? 2 : 4;  // as there are registers
    const int half = turn / PASSES, pass = turn % PASSES;
    // 8 rows of the product are of one output row.
    const int line = line_of(work, part.product_row + half * 8), channel = channel_of(part.product_row + half * 8);
    const bool some = !FOLDED || line < plan::FOLD;
    Element* const y = static_cast<Element*>(args.y) + work.y;
    const Element* const residual = static_cast<const Element*>(args.residual) + (layer::RESIDUAL ? work.y : 0);
#pragma unroll 1
    for (int first = 0; first < TURNS; first += BATCH) {
        bool stored[BATCH];
        index_t at[BATCH];
        float sums[BATCH][V];
        EpilogueChannel parts[BATCH];
        Vector<Element, V> added[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const int i = (first + k) * 32 + int(threadIdx.x % 32), e = i % OF_LINE * V;
            const bool exists = LINES_OF_SLAB * OF_LINE % (32 * BATCH) == 0 || i < LINES_OF_SLAB * OF_LINE;
            const int own = exists ? i / OF_LINE : 0, o = own / PASS_PIECES, piece = own % PASS_PIECES;
            int h, w;
            find_piece(pass * PASS_PIECES + piece, h, w);
            const index_t out_h = index_t(work.q_h + part.row + h) * LINES + line;
            const index_t out_w = index_t(work.q_w + part.column + w) * SW + e;
            stored[k] = exists && some && out_h < work.out_height && channel + o < work.channels &&
                        out_w < work.out_width;
            at[k] = stored[k] ? index_t(channel + o) * work.out_plane + out_h * work.out_width + out_w : 0;
            load_shared(sums[k], slab + o * SLAB_PITCH + piece * PIECE + e);
            parts[k] = finish_at(finish, half * 8 + o);
            if constexpr (layer::RESIDUAL)
                if (stored[k])
                    added[k] = load_global_coherent(reinterpret_cast<const Vector<Element, V>*>(residual + at[k]));
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            Vector<Element, V> out;
#pragma unroll
            for (int e = 0; e < V; ++e)
                out[e] = from_float<Element>(
                    epilogue(sums[k][e], parts[k], layer::RESIDUAL ? to_float(added[k][e]) : 0.0f));
            if (stored[k]) store_global(reinterpret_cast<Vector<Element, V>*>(y + at[k]), out);
        }
    }
}

// The same, a line at a time by as many threads as it has vectors: wherever lines begin, whole vectors leave, and single
// elements before and behind them.
__device__ __forceinline__ void store_slab_by_lines(const ConvtArgs& args, const Work& work,
                                                    const EpilogueChannel& finish, const Part& part, int turn,
                                                    const float* slab) {
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
        const index_t out_h = index_t(work.q_h + part.row + h) * LINES + line;
        const index_t first = index_t(work.q_w + part.column + w) * SW;
        const int c = channel + o;
        if (own >= 8 * PASS_PIECES || !some || out_h >= work.out_height || c >= work.channels || first >= work.out_width)
            continue;
        const int count = int(min(index_t(PIECE), work.out_width - first));
        const long long at = work.y + c * (long long)work.out_plane + (long long)out_h * work.out_width + first;
        store_line<ceil_div(PIECE, LANES * VECTOR)>(args, at, count, lane % LANES, LANES, parts,
                                                    SlabRow{slab + o * SLAB_PITCH + piece * PIECE});
    }
}

// wide: whether STORE_WIDTH elements lie as one vector in every row of y.
__device__ __forceinline__ void store_slab(const ConvtArgs& args, const Work& work, const EpilogueChannel& finish,
                                           const Part& part, int turn, bool wide, const float* slab) {
    if constexpr (STORERS || plan::STORE_WIDTH == VECTOR) {
        if (wide) {
            store_slab_by<plan::STORE_WIDTH>(args, work, finish, part, turn, slab);
            return;
        }
    }
    // Those who do nothing else store more at a time; those who multiply had better take few turns.
    if constexpr (!STORERS)
        store_slab_by_lines(args, work, finish, part, turn, slab);
    else if constexpr (plan::STORE_WIDTH > 1)
        store_slab_by<1>(args, work, finish, part, turn, slab);
}
__device__ __forceinline__ bool is_wide(const ConvtArgs& args, const Work& work) {
    return plan::STORE_WIDTH == 1 ||
           widest_access(work.out_width, args.y, layer::RESIDUAL ? args.residual : nullptr, nullptr) >= plan::STORE_WIDTH;
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
        if (sum != sum && (!FOLDED || line < plan::FOLD) && own < work.channels && at < work.out_width)
            sum = plain_sum(work, own, index_t(work.q_h + part.row + h) * LINES + line, at);
    }
    __syncwarp();
}

// A warp's sums, which are zero where no tap inside the image reaches.
__device__ __forceinline__ void finish_sums(const Work& work, const Part& part, Sums& sums) {
    constexpr bool EMPTY_LINES = FOLDED && Vertical::used() < SH;  // output rows of a position that have no taps
    if (work.chunks == 0 || EMPTY_LINES ||
        (!(layer::ALL_REACHED_H && layer::ALL_REACHED_W) &&
         !(all_reached<Vertical, layer::OFFSET_STEP_H>(work.q_h * ROW_STEP, plan::POSITIONS_H * ROW_STEP, work.height,
                                                       work.out_height) &&
           all_reached<Horizontal, layer::OFFSET_STEP_W>(work.q_w, plan::POSITIONS_W, work.width, work.out_width))))
        forget_unreached(work, part.product_row, work.q_h + part.row, work.q_w + part.column + threadIdx.x % 4 * 2, sums);
}

// Of a warp that multiplies and stores.
__device__ __forceinline__ void store_tile(const ConvtArgs& args, const Work& work, const Part& part, Sums& sums) {
    const EpilogueChannel finish = finish_of(args, work, part);
    finish_sums(work, part, sums);
    const int lane = threadIdx.x % 32;
    const bool wide = is_wide(args, work);
    float* const slab = slab_of(threadIdx.x / 32);
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
        store_slab(args, work, finish, part, turn, wide, slab);
        __syncwarp();
    }
}

// Between a warp that multiplies and the one that stores its sums: two barriers, full and empty, and whether sums are to be
// repaired.
constexpr int SUMS_BARRIERS_AT = TEAM_BARRIERS_AT + 8 * plan::TEAMS, REPAIRS_AT = SUMS_BARRIERS_AT + 16 * 4 * CONSUMERS;
constexpr int SHARED_BYTES = STORERS ? REPAIRS_AT + 4 * 4 * CONSUMERS : SUMS_BARRIERS_AT;
__device__ __forceinline__ unsigned sums_full(int warp) { return shared_address(shared_memory()) + SUMS_BARRIERS_AT + 16 * warp; }
__device__ __forceinline__ unsigned sums_empty(int warp) { return sums_full(warp) + 8; }
__device__ __forceinline__ int& repairs(int warp) { return reinterpret_cast<int*>(shared_memory() + REPAIRS_AT)[warp]; }

// Of a warp that leaves its sums to another. parity: of the tile's number.
__device__ __forceinline__ void leave_sums(const ConvtArgs& args, const Work& work, const Part& part, unsigned parity,
                                           Sums& sums) {
    finish_sums(work, part, sums);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float* const target = slab_of(warp) + lane / 4 * SLAB_PITCH + lane % 4 * (2 * SW);
    barrier_wait(sums_empty(warp), parity ^ 1);
    [[maybe_unused]] float probe = 0;
    static_for<0, SLABS>([&](auto t) {
        constexpr int TURN = decltype(t)::value;
        write_slab<TURN / PASSES, TURN % PASSES>(target + TURN * SLAB, sums, args.batch < 0 ? TURN : 0, probe);
    });
    if constexpr (REPAIRED) {
        const bool any = __any_sync(0xffffffff, probe != 0.0f);
        if (lane == 0) repairs(warp) = any;
    }
    __syncwarp();
    if (lane == 0) barrier_arrive(sums_full(warp));
}

// Stores what the warps of the same number in all warpgroups leave.
__device__ __forceinline__ void store_left(const ConvtArgs& args, const Tiles& tiles) {
    const int own = threadIdx.x / 32 % 4;
    unsigned parity = 0;
#pragma unroll 1
    for (long long tile = blockIdx.x; tile < tiles.count; tile += gridDim.x, parity ^= 1) {
        const Work work = work_of(args, tiles, tile);
        const bool wide = is_wide(args, work);
#pragma unroll 1
        for (int group = 0; group < TEAM; ++group) {
            const int warp = group * 4 + own;
            const Part part = part_of(group, own);
            const EpilogueChannel finish = finish_of(args, work, part);
            barrier_wait(sums_full(warp), parity);
#pragma unroll 1
            for (int turn = 0; turn < SLABS; ++turn) {
                float* const slab = slab_of(warp) + turn * SLAB;
                if (REPAIRED && repairs(warp)) repair_slab(work, part, turn, slab);
                store_slab(args, work, finish, part, turn, wide, slab);
            }
            __syncwarp();
            if (threadIdx.x % 32 == 0) barrier_arrive(sums_empty(warp));
        }
    }
}
