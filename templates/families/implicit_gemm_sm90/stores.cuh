// implicit_gemm_sm90: stores.

// Of a row of the product: its output row among those of a position, and its channel among the block's.
__device__ __forceinline__ int line_of(const Work& work, int row) {
    return FOLDED ? row / BLOCK_CHANNELS : work.phase;
}
__device__ __forceinline__ int channel_of(int row) { return FOLDED ? row % BLOCK_CHANNELS : row; }

// Of a row of the tile: its image, and its output row from `line` on.
__device__ __forceinline__ int image_of(int row) { return row % IMAGES; }
__device__ __forceinline__ index_t out_row(const Work& work, int row, int line) {
    return index_t(work.q_h + row / IMAGES) * LINES + line;
}
__device__ __forceinline__ bool has_image(const Work& work, int row) { return IMAGES == 1 || image_of(row) < work.images; }
// Where in y a channel of the block and an output row begin, from the tile's first image on.
__device__ __forceinline__ index_t line_offset(const Work& work, int row, int channel, index_t out_row) {
    return image_offset(image_of(row), layer::OUT_CHANNELS, work.out_plane) + channel * work.out_plane +
           out_row * work.out_width;
}

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
// warp's first; first_row, q_w: of the tile, of the lane's first sum.
__device__ __forceinline__ void forget_unreached(const Work& work, int row, int first_row, int q_w, Sums& sums) {
#pragma unroll
    for (int row_tile = 0; row_tile < OWN_TILES; row_tile += LINE_TILES) {
        const int h = work.q_h + (first_row + row_tile / LINE_TILES) / IMAGES;
        const bool above = row_reached(work, h, line_of(work, row));
        const bool below = FOLDED ? row_reached(work, h, line_of(work, row + 8)) : above;
#pragma unroll
        for (int tile = row_tile; tile < row_tile + LINE_TILES && tile < OWN_TILES; ++tile)
            static_for<0, SW>([&](auto rw) {
                if constexpr (Horizontal::used(rw)) {
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        const bool column = reached<Horizontal, int(rw)>(q_w + (tile - row_tile) * 8 + e, work.width);
                        float* const four = &sums[Horizontal::rank(rw)][tile / RUN_TILES][tile % RUN_TILES * 4];
                        if (!(above && column)) four[e] = EXACT_ZERO;
                        if (!(below && column)) four[2 + e] = EXACT_ZERO;
                    }
                }
            });
    }
}

// One sum by the definition, for those.
__device__ __forceinline__ float plain_sum(const Work& work, int image, int channel, index_t line, index_t w) {
    float sum = 0;
    const Element* const images = work.x + image_offset(image, layer::IN_CHANNELS, work.depth * work.plane);
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
                    images + (work.first_d - d * layer::OFFSET_STEP_D) * work.plane + h / SH * work.width + at / SW;
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
__device__ __forceinline__ char* slab_of(int warp) {
    return shared_memory() + SLABS_AT + warp * SLAB_BYTES;
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

// What a tile's sums begin with: the exact zero where it has no products.
__device__ __forceinline__ float first_sum(int chunks) { return chunks > 0 ? 0.0f : EXACT_ZERO; }

// A warp's sums, which are zero where no tap inside the image reaches.
__device__ __forceinline__ void finish_sums(const Work& work, const Part& part, Sums& sums) {
    constexpr bool EMPTY_LINES = FOLDED && Vertical::used() < SH;  // output rows of a position that have no taps
    if constexpr (EMPTY_LINES || !(layer::ALL_REACHED_H && layer::ALL_REACHED_W))
        if (work.chunks > 0 &&
            (EMPTY_LINES ||
             !(all_reached<Vertical, layer::OFFSET_STEP_H>(work.q_h * ROW_STEP, IMAGE_ROWS * ROW_STEP, work.height,
                                                           work.out_height) &&
               all_reached<Horizontal, layer::OFFSET_STEP_W>(work.q_w, plan::POSITIONS_W, work.width, work.out_width))))
            forget_unreached(work, part.product_row, part.row, work.q_w + part.column + threadIdx.x % 4 * 2,
                             sums);
}

// What becomes of a thread's sums, which are of two rows of the product.
struct Finish {
    EpilogueChannel channels[2];
    __device__ __forceinline__ Finish(const ConvtArgs& args, const Work& work, const Part& part) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int channel = channel_of(part.product_row + half * 8 + threadIdx.x % 32 / 4);
            if ((layer::HAS_BIAS || layer::AFFINE) && channel < work.channels)
                channels[half] = epilogue_channel(args, work.channel + channel);
        }
    }
};

// Finished outputs of 8 channels and one pass, as the strips of a slab: [strip of a channel][channel]. zero: see write_slab.
template <int HALF, int PASS>
__device__ __forceinline__ void write_strips(const Finish& finish, const Sums& sums, unsigned zero, char* slab) {
    constexpr int RUN = 2 * SW, V = widest(RUN, VECTOR);
    const int lane = threadIdx.x % 32;
    Element* const target = reinterpret_cast<Element*>(slab + lane / 4 * STRIP_PITCH) + lane % 4 * RUN;
#pragma unroll
    for (int tile = 0; tile < SLAB_STRIPS * STRIP_TILES; ++tile) {
        const int n = PASS * SLAB_STRIPS * STRIP_TILES + tile;
        const int to = tile / STRIP_TILES * (8 * STRIP_PITCH) + tile % STRIP_TILES * TILE_BYTES;
        Element run[RUN];
        static_for<0, RUN>([&](auto at) {
            constexpr int E = decltype(at)::value / SW, R = decltype(at)::value % SW;
            float sum = EXACT_ZERO;
            if constexpr (Horizontal::used(R)) {
                sum = sums[Horizontal::rank(R)][n / RUN_TILES][n % RUN_TILES * 4 + 2 * HALF + E];
                if constexpr (SW > 1) sum = __uint_as_float(__float_as_uint(sum) ^ zero);
            }
            run[at] = from_float<Element>(epilogue(sum, finish.channels[HALF], 0.0f));
        });
#pragma unroll
        for (int i = 0; i < RUN; i += V) {
            Vector<Element, V> v;
#pragma unroll
            for (int e = 0; e < V; ++e) v[e] = run[i + e];
            *reinterpret_cast<Vector<Element, V>*>(target + to / int(sizeof(Element)) + i) = v;
        }
    }
}

// Stores the strips of a slab, V outputs a thread and time.
template <int V>
__device__ __forceinline__ void store_strips(const ConvtArgs& args, const Work& work, const Part& part, int turn,
                                             const char* slab) {
    constexpr int COUNT = 8 * SLAB_STRIPS, OF_STRIP = STRIP / V;  // lanes
    constexpr int LANES = OF_STRIP < 32 ? OF_STRIP : 32, AT_ONCE = OF_STRIP < 32 ? floor_power_of_two(32 / OF_STRIP) : 1;
    constexpr int PARTS_OF_STRIP = ceil_div(OF_STRIP, 32), TURNS = ceil_div(COUNT, AT_ONCE) * PARTS_OF_STRIP;
    constexpr int MOST = STORERS ? 8 : 4, BATCH = TURNS < MOST ? TURNS : MOST;
    const int half = turn / STRIP_PASSES, first = turn % STRIP_PASSES * SLAB_STRIPS, lane = threadIdx.x % 32;
    // 8 rows of the product are of one output row.
    const int line = line_of(work, part.product_row + half * 8), channel = channel_of(part.product_row + half * 8);
    const int own = lane / LANES, own_e = lane % LANES * V;
    const bool some = !FOLDED || line < plan::FOLD, any = AT_ONCE * LANES == 32 || own < AT_ONCE;  // for the lane
    Element* const y = static_cast<Element*>(args.y) + work.y;
#pragma unroll 1
    for (int item = 0; item < TURNS; item += BATCH) {
        bool stored[BATCH];
        Element* to[BATCH];
        Vector<Element, V> outputs[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; ++k) {
            const int i = (item + k) / PARTS_OF_STRIP * AT_ONCE + own, e = (item + k) % PARTS_OF_STRIP * (32 * V) + own_e;
            const int o = i % 8, strip = i / 8, tile = (first + strip) * STRIP_TILES;
            const int row = part.row + tile / LINE_TILES;
            const index_t h = out_row(work, row, line), w = index_t(work.q_w + part.column + tile % LINE_TILES * 8) * SW + e;
            const bool exists = any && (COUNT % AT_ONCE == 0 && TURNS % BATCH == 0 || i < COUNT) &&
                                (OF_STRIP % 32 == 0 || OF_STRIP < 32 || e < STRIP);
            stored[k] = exists && some && h < work.out_height && channel + o < work.channels && w < work.out_width &&
                        has_image(work, row);
            to[k] = y + (line_offset(work, row, channel + o, h) + w);
            outputs[k] = *reinterpret_cast<const Vector<Element, V>*>(
                slab + (exists ? i * STRIP_PITCH + e * int(sizeof(Element)) : 0));
        }
#pragma unroll
        for (int k = 0; k < BATCH; ++k)
            if (stored[k]) store_global(reinterpret_cast<Vector<Element, V>*>(to[k]), outputs[k]);
    }
}

// As wide as the plan has it where STORE_WIDTH elements lie as one vector in every row of y.
__device__ __forceinline__ void store_strips(const ConvtArgs& args, const Work& work, const Part& part, int turn,
                                             const char* slab) {
    if (plan::STORE_WIDTH == 1 || widest_access(work.out_width, args.y, nullptr, nullptr) >= plan::STORE_WIDTH)
        store_strips<plan::STORE_WIDTH>(args, work, part, turn, slab);
    else
        store_strips<1>(args, work, part, turn, slab);
}

// Outputs of a slab's strips that are NaN, as their sums are then, once more by the definition.
__device__ __forceinline__ void repair_strips(const ConvtArgs& args, const Work& work, const Part& part, int turn,
                                              char* slab) {
    const int half = turn / STRIP_PASSES, first = turn % STRIP_PASSES * SLAB_STRIPS;
    const int line = line_of(work, part.product_row + half * 8), channel = channel_of(part.product_row + half * 8);
    if (FOLDED && line >= plan::FOLD) return;
#pragma unroll 1
    for (int i = threadIdx.x % 32; i < 8 * SLAB_STRIPS * STRIP; i += 32) {
        const int strip = i / STRIP, e = i % STRIP, own = channel + strip % 8, tile = (first + strip / 8) * STRIP_TILES;
        const int row = part.row + tile / LINE_TILES;
        const index_t h = out_row(work, row, line), w = index_t(work.q_w + part.column + tile % LINE_TILES * 8) * SW + e;
        Element& output = reinterpret_cast<Element*>(slab + strip * STRIP_PITCH)[e];
        const float value = to_float(output);
        if (value == value || h >= work.out_height || w >= work.out_width || own >= work.channels || !has_image(work, row))
            continue;
        output = from_float<Element>(
            epilogue(plain_sum(work, image_of(row), own, h, w), epilogue_channel(args, work.channel + own), 0.0f));
    }
    __syncwarp();
}
// Whether some sum of the warp is not finite, and is to be looked at.
__device__ __forceinline__ bool is_broken(const Sums& sums) {
    if constexpr (!REPAIRED) return false;
    float probe = 0;
#pragma unroll
    for (int set = 0; set < COLUMN_SETS; ++set)
#pragma unroll
        for (int run = 0; run < RUNS; ++run)
#pragma unroll
            for (int i = 0; i < RUN_SUMS; ++i) probe = fmaf(sums[set][run][i], 0.0f, probe);
    return __any_sync(0xffffffff, probe != 0.0f) != 0;
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

// Of a warp that multiplies and stores.
template <class T>
__device__ __forceinline__ void store_tile(const ConvtArgs& args, const Work& work, const Part& part, const Finish& finish,
                                           T& sums) {
    finish_sums(work, part, sums);
    if constexpr (layer::RESIDUAL) {
        store_sums(args, work, part, sums);
    } else {
        const bool broken = is_broken(sums);
        char* const slab = slab_of(threadIdx.x / 32);
#pragma unroll 1
        for (int turn = 0; turn < STRIP_SLABS; ++turn) {
            const unsigned zero = args.batch < 0 ? turn : 0;
            static_for<0, STRIP_SLABS>([&](auto t) {
                constexpr int TURN = decltype(t)::value;
                if (turn == TURN)
                    write_strips<TURN / STRIP_PASSES, TURN % STRIP_PASSES>(finish, sums, zero, slab);
            });
            __syncwarp();
            if (broken) repair_strips(args, work, part, turn, slab);
            store_strips(args, work, part, turn, slab);
            __syncwarp();
        }
    }
}

// Between a warp that multiplies and the one that stores its outputs: two barriers, full and empty.
constexpr int SLABS_BARRIERS_AT = TEAM_BARRIERS_AT + 8 * plan::TEAMS;
constexpr int SHARED_BYTES = SLABS_BARRIERS_AT + (STORERS ? 16 * 4 * CONSUMERS : 0);
__device__ __forceinline__ unsigned slabs_full(int warp) { return shared_address(shared_memory()) + SLABS_BARRIERS_AT + 16 * warp; }
__device__ __forceinline__ unsigned slabs_empty(int warp) { return slabs_full(warp) + 8; }

// Of a warp that leaves its outputs to another. parity: of the tile's number.
__device__ __forceinline__ void leave_tile(const ConvtArgs& args, const Work& work, const Part& part, const Finish& finish,
                                           unsigned parity, Sums& sums) {
    finish_sums(work, part, sums);
    const int warp = threadIdx.x / 32;
    char* const slabs = slab_of(warp);
    barrier_wait(slabs_empty(warp), parity ^ 1);
    const bool broken = is_broken(sums);
    static_for<0, STRIP_SLABS>([&](auto t) {
        constexpr int TURN = decltype(t)::value;
        write_strips<TURN / STRIP_PASSES, TURN % STRIP_PASSES>(finish, sums, args.batch < 0 ? TURN : 0,
                                                               slabs + TURN * STRIP_SLAB);
    });
    if (broken) {
        __syncwarp();
#pragma unroll 1
        for (int turn = 0; turn < STRIP_SLABS; ++turn) repair_strips(args, work, part, turn, slabs + turn * STRIP_SLAB);
    }
    barrier_arrive(slabs_full(warp));
}

// Stores what the warps of the same number in all warpgroups leave.
__device__ __forceinline__ void store_left(const ConvtArgs& args, const Tiles& tiles) {
    const int own = threadIdx.x / 32 % 4;
    unsigned parity = 0;
#pragma unroll 1
    for (long long tile = blockIdx.x; tile < tiles.count; tile += gridDim.x, parity ^= 1) {
        const Work work = work_of(args, tiles, tile);
#pragma unroll 1
        for (int group = 0; group < TEAM; ++group) {
            const int warp = group * 4 + own;
            const Part part = part_of(group, own);
            barrier_wait(slabs_full(warp), parity);
#pragma unroll 1
            for (int turn = 0; turn < STRIP_SLABS; ++turn)
                store_strips(args, work, part, turn, slab_of(warp) + turn * STRIP_SLAB);
            barrier_arrive(slabs_empty(warp));
        }
    }
}
