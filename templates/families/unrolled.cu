// unrolled: transposed convolution on the CUDA cores with all taps unrolled into registers. NC* tensors.
//
// Outputs are written o = STRIDE*q + r per axis. A block owns POSITIONS_H x POSITIONS_W positions q of one output depth,
// all phases of them and BLOCK_CHANNELS output channels of one group. A thread holds ROWS x COLUMNS positions, CHANNELS
// output channels and all column phases, so that its outputs of a row are one contiguous run. The input tile and the
// weights come in a ring of STAGES chunks of channels. A warp puts its run of a row into a slab of shared memory and
// writes it as whole lines; rows that no tap reaches are written first, while the loads fly. Depth taps of a plane only
// lengthen the loop over chunks.

// ---------------------------------------------------------------- constants of the tile
constexpr int ROWS = plan::ROWS, COLUMNS = plan::COLUMNS, CHANNELS = plan::CHANNELS;
constexpr int THREADS_X = plan::POSITIONS_W / COLUMNS, THREADS_Y = plan::POSITIONS_H / ROWS;
constexpr int PLACES = THREADS_X * THREADS_Y;  // threads that differ in position only
enum RowPhases { TOGETHER, IN_TURN, SIDE_BY_SIDE };
enum Order { INPUTS, ROWS_OF_OUTPUT, PLANES };  // which blocks run side by side: that read, or write, the same
constexpr bool SPLIT = plan::ROW_PHASES != TOGETHER;
constexpr int PHASE_THREADS = plan::ROW_PHASES == SIDE_BY_SIDE ? Vertical::used() : 1;
constexpr int TEAM = PLACES * plan::CHANNEL_THREADS * PHASE_THREADS;  // threads that share one share of the channels
constexpr int THREADS = TEAM * plan::REDUCTION_THREADS;
constexpr int WARPS = ceil_div(THREADS, 32);
constexpr int TURNS = plan::BLOCK_CHANNELS / (CHANNELS * plan::CHANNEL_THREADS);  // channel vectors one after the other
constexpr int CHANNEL_BLOCKS = ceil_div(layer::OUT_PER_GROUP, plan::BLOCK_CHANNELS);

constexpr int TILE_H = plan::POSITIONS_H + Vertical::high() - Vertical::low();
constexpr int FIRST_COLUMN = floor_to(Horizontal::low(), VECTOR);  // tiles start where a vector of the image starts
constexpr int TILE_W = round_up(plan::POSITIONS_W + Horizontal::high() - FIRST_COLUMN, VECTOR);
constexpr int DEPTH_TAPS = ceil_div(layer::KERNEL_D, layer::TAP_STEP_D);  // of one output depth, at most
constexpr int DEPTH_CHUNKS = ceil_div(layer::IN_PER_GROUP, plan::CHUNK);
constexpr int MOST_CHUNKS = DEPTH_TAPS * DEPTH_CHUNKS;
constexpr int STAGES = plan::STAGES < MOST_CHUNKS ? plan::STAGES : MOST_CHUNKS;
constexpr bool RESIDENT = STAGES == MOST_CHUNKS;  // every chunk has a stage of its own and serves all turns
static_assert(RESIDENT || STAGES > 1, "a ring needs two stages");
static_assert(RESIDENT || TURNS * (plan::ROW_PHASES == IN_TURN ? Vertical::used() : 1) == 1,
              "a ring passes only once");

// Weights of one input channel and channel vector, CHANNELS innermost; where a row phase is computed by itself, taps are
// sorted by row phase, each padded to whole 16-byte reads.
__host__ __device__ constexpr int weight_run(int r) {
    return SPLIT ? round_up(Vertical::taps(r) * KW * CHANNELS, 4) : r == 0 ? round_up(KH * KW * CHANNELS, 4) : 0;
}
__host__ __device__ constexpr int weight_base(int r) {
    int n = 0;
    for (int q = 0; q < r; ++q) n += weight_run(q);
    return n;
}
__host__ __device__ constexpr int weight_row(int kh) {  // where tap row kh starts
    const int r = Vertical::phase(kh);
    return weight_base(r) + (Vertical::place(kh) - Vertical::first(r)) * KW * CHANNELS;
}
constexpr int WEIGHT_PITCH = weight_base(SH);
constexpr int STAGED_VECTORS = RESIDENT ? plan::BLOCK_CHANNELS / CHANNELS : plan::CHANNEL_THREADS;

constexpr int ROW_SETS = SPLIT ? 1 : Vertical::used(), COLUMN_SETS = Horizontal::used();
constexpr int SUMS = ROW_SETS * COLUMN_SETS * CHANNELS * ROWS * COLUMNS;
constexpr int RUN = COLUMNS * SW;  // a thread's contiguous outputs in a row
constexpr int SLAB = plan::SLABS ? 32 * RUN : 0;

constexpr int INPUT_STAGE = round_up(plan::CHUNK * TILE_H * TILE_W * int(sizeof(Element)), 16);  // bytes
constexpr int WEIGHT_STAGE = STAGED_VECTORS * plan::CHUNK * WEIGHT_PITCH * 4;
constexpr int FINISH_BYTES = round_up(plan::BLOCK_CHANNELS * int(sizeof(EpilogueChannel)), 32);
constexpr int INPUT_BYTES = STAGES * INPUT_STAGE > (plan::REDUCTION_THREADS > 1 ? THREADS * SUMS * 4 : 0)
                                ? STAGES * INPUT_STAGE
                                : round_up(THREADS * SUMS * 4, 16);

// ---------------------------------------------------------------- loads
// How a block's threads share the input tile of a chunk when WIDE elements are copied at a time. WIDE divides the
// image's row, so a vector is inside the image or outside of it.
template <int WIDE>
struct Pieces {
    static constexpr int VECTORS = TILE_W / WIDE, PLANE = TILE_H * VECTORS;
    // Threads side by side cover this many channels, and then step over channels without index arithmetic.
    static constexpr int BESIDE = gcd(plan::CHUNK, floor_power_of_two(THREADS / PLANE > 0 ? THREADS / PLANE : 1));
    static constexpr int COUNT = PLANE * BESIDE, EACH = ceil_div(COUNT, THREADS);
    static constexpr bool KEPT = WIDE == VECTOR && MOST_CHUNKS > 1 && EACH <= 4;

    // Offset of a piece within a plane of the image; negative outside.
    __device__ static __forceinline__ index_t pixel(const Place& place, int piece) {
        const int h = place.q_h + Vertical::low() + piece / VECTORS % TILE_H;
        const int w = place.q_w + FIRST_COLUMN + piece % VECTORS * WIDE;
        const bool inside = h >= 0 && h < place.height && w >= 0 && w < place.width;
        return inside ? index_t(h) * place.width + w : index_t(-1);
    }
};

template <int WIDE>
__device__ __forceinline__ void stage_piece(const Place& place, Element* staged, const Element* from, int piece,
                                            index_t pixel, int channels) {
    using P = Pieces<WIDE>;
    const int c0 = piece / P::PLANE;
    Element* const target =
        staged + (c0 * TILE_H + piece / P::VECTORS % TILE_H) * TILE_W + piece % P::VECTORS * WIDE;
    const bool inside = pixel >= 0;
    const index_t channel_pitch = place.depth * place.plane;
    const Element* source = from + (c0 * channel_pitch + pixel);  // read inside the image only
#pragma unroll
    for (int c = 0; c < plan::CHUNK; c += P::BESIDE) {
        const bool exists = inside && (layer::IN_PER_GROUP % plan::CHUNK == 0 || c0 + c < channels);
        Element* const to = target + c * (TILE_H * TILE_W);
        if constexpr (WIDE * sizeof(Element) >= 4)
            copy_async<int(WIDE * sizeof(Element))>(to, source, exists);
        else
            *to = exists ? load_global(source) : from_float<Element>(0.0f);
        source += P::BESIDE * channel_pitch;
    }
}

template <int WIDE>
__device__ __forceinline__ void stage_input(const Place& place, Element* staged, index_t d, int first, int channels,
                                            const index_t (&kept)[4]) {
    using P = Pieces<WIDE>;
    const Element* const from = place.x + (index_t(first) * place.depth + d) * place.plane;
    if constexpr (P::KEPT) {
#pragma unroll
        for (int k = 0; k < P::EACH; ++k)
            if ((k + 1) * THREADS <= P::COUNT || int(threadIdx.x) + k * THREADS < P::COUNT)
                stage_piece<WIDE>(place, staged, from, threadIdx.x + k * THREADS, kept[k], channels);
    } else {
#pragma unroll 1
        for (int i = threadIdx.x; i < P::COUNT; i += THREADS)
            stage_piece<WIDE>(place, staged, from, i, P::pixel(place, i), channels);
    }
}

// Where the weight of a tap stands among those of its input channel and channel vector.
struct WeightRows {
    int of[KH];
    __host__ __device__ constexpr WeightRows() : of{} {
        for (int kh = 0; kh < KH; ++kh) of[kh] = weight_row(kh);
    }
};
__device__ const WeightRows WEIGHT_ROWS;
__device__ __forceinline__ int weight_place(int tap) {
    if constexpr (!SPLIT) return tap * CHANNELS;
    const int kh = tap / KW;
    int row = 0;
    if constexpr (KH <= 8)
        static_for<1, KH>([&](auto k) { row = kh == k ? weight_row(k) : row; });
    else
        row = WEIGHT_ROWS.of[kh];
    return (KH <= 8 && kh == 0 ? weight_row(0) : row) + tap % KW * CHANNELS;
}

// PyTorch's order becomes [channel vector][input channel][tap, by phase][output channel]. Neighbours read neighbours.
__device__ __forceinline__ void stage_weights(const Place& place, float* staged, int tap_d, int first, int channels,
                                              int first_vector) {
    constexpr int OUTPUTS = STAGED_VECTORS * CHANNELS, TAPS = KH * KW;
#pragma unroll 2
    for (int i = threadIdx.x; i < plan::CHUNK * OUTPUTS * TAPS; i += THREADS) {
        const int tap = i % TAPS, o = i / TAPS % OUTPUTS, c = i / (TAPS * OUTPUTS);
        const int output = first_vector * CHANNELS + o;
        const bool exists = c < channels && output < place.channels;
        const plan::weight_index_t at =
            ((plan::weight_index_t(first + c) * layer::OUT_PER_GROUP + output) * layer::KERNEL_D + tap_d) * TAPS + tap;
        float* const target =
            staged + (o / CHANNELS * plan::CHUNK + c) * WEIGHT_PITCH + weight_place(tap) + o % CHANNELS;
        if constexpr (sizeof(Element) == 4)
            copy_async<4>(target, place.w + at, exists);
        else
            *target = exists ? to_float(load_global(place.w + at)) : 0.0f;
    }
}

// ---------------------------------------------------------------- products
// Products of one staged chunk for one channel vector and the row phase RH (all row phases when they are together).
template <int RH>
__device__ __forceinline__ void accumulate(const Element* input, const float* weights, int share,
                                           float (&sums)[ROW_SETS][COLUMN_SETS][CHANNELS][ROWS][COLUMNS]) {
    constexpr int ROW_LOW = SPLIT ? Vertical::low(RH) : Vertical::low();
    constexpr int ROW_HIGH = SPLIT ? Vertical::high(RH) : Vertical::high();
    constexpr int WINDOW_H = ROWS + ROW_HIGH - ROW_LOW, WINDOW_W = COLUMNS + Horizontal::high() - Horizontal::low();
    constexpr int TAPS = (SPLIT ? Vertical::taps(RH) : KH) * KW, FIRST_TAP = SPLIT ? Vertical::first(RH) * KW : 0;
    constexpr int FACTORS = TAPS * CHANNELS;
    constexpr int SKIP = Horizontal::low() - FIRST_COLUMN;  // columns before the first that is needed
    constexpr int WIDE = widest(COLUMNS, 16 / int(sizeof(Element)) < 4 ? 16 / int(sizeof(Element)) : 4);
#pragma unroll(plan::UNROLL)
    for (int c = share; c < plan::CHUNK; c += plan::REDUCTION_THREADS) {
        float window[WINDOW_H][WINDOW_W];
#pragma unroll
        for (int r = 0; r < WINDOW_H; ++r) {
            const Element* const from = input + (c * TILE_H + r + ROW_LOW - Vertical::low()) * TILE_W;
            static_for<0, ceil_div(SKIP + WINDOW_W, WIDE)>([&](auto k) {
                constexpr int B = k * WIDE;
                if constexpr (B >= SKIP && B + WIDE <= SKIP + WINDOW_W) {
                    const Vector<Element, WIDE> v = *reinterpret_cast<const Vector<Element, WIDE>*>(from + B);
#pragma unroll
                    for (int e = 0; e < WIDE; ++e) window[r][B - SKIP + e] = to_float(v[e]);
                } else if constexpr (B + WIDE > SKIP) {
                    static_for<0, WIDE>([&](auto e) {
                        if constexpr (B + e >= SKIP && B + e < SKIP + WINDOW_W)
                            window[r][B + e - SKIP] = to_float(from[B + e]);
                    });
                }
            });
        }
        const float* const factors = weights + c * WEIGHT_PITCH + (SPLIT ? weight_base(RH) : 0);
        static_for<0, ceil_div(FACTORS, 4)>([&](auto i) {
            float four[4];
            load_shared(four, factors + 4 * i);
            static_for<0, 4>([&](auto j) {
                constexpr int E = 4 * decltype(i)::value + j;
                if constexpr (E < FACTORS) {
                    constexpr int TAP = FIRST_TAP + E / CHANNELS, O = E % CHANNELS;
                    constexpr int TAP_H = SPLIT ? Vertical::sorted(TAP / KW) : TAP / KW, TAP_W = TAP % KW;
                    constexpr int A = SPLIT ? 0 : Vertical::rank(Vertical::phase(TAP_H));
                    constexpr int B = Horizontal::rank(Horizontal::phase(TAP_W));
                    constexpr int DH = Vertical::offset(TAP_H) - ROW_LOW, DW = Horizontal::offset(TAP_W) - Horizontal::low();
#pragma unroll
                    for (int r = 0; r < ROWS; ++r)
#pragma unroll
                        for (int w = 0; w < COLUMNS; ++w)
                            sums[A][B][O][r][w] = fmaf(window[r + DH][w + DW], four[j], sums[A][B][O][r][w]);
                }
            });
        });
    }
}

// ---------------------------------------------------------------- stores
// The rows of the block that no tap reaches (all of them where no depth tap does), a warp a row.
__device__ __forceinline__ void store_bias_rows(const ConvtArgs& args, const Place& place, bool all_rows) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int lanes = min(32, THREADS - warp * 32);  // the last warp may not be whole
    const index_t first_column = index_t(place.q_w) * SW;
    const int columns = int(min(index_t(plan::POSITIONS_W * SW), place.out_width - first_column));
    constexpr int MOST = ceil_div(plan::POSITIONS_W * SW, VECTOR * (THREADS % 32 == 0 ? 32 : THREADS % 32));
    static_for<0, SH>([&](auto rh) {
        if (Vertical::used(rh) && !all_rows) return;
        for (int i = warp; i < plan::POSITIONS_H * plan::BLOCK_CHANNELS; i += WARPS) {
            const int q = i % plan::POSITIONS_H, o = i / plan::POSITIONS_H;
            const index_t h = index_t(place.q_h + q) * SH + int(rh);
            if (h < place.out_height && o < place.channels)
                store_line<MOST>(args, place.y + o * place.out_plane + h * place.out_width + first_column, columns, lane,
                                 lanes, epilogue_channel(args, place.channel + o), Nothing{});
        }
    });
}

// What no tap inside the image reaches is exactly zero, whatever weights the zeros beyond it met. RH: the row phase of
// the sums where they have only one.
template <int RH>
__device__ __forceinline__ void forget_unreached(const Place& place, int q_h, int q_w,
                                                 float (&sums)[ROW_SETS][COLUMN_SETS][CHANNELS][ROWS][COLUMNS]) {
    static_for<0, SH>([&](auto rh) {
        if constexpr (Vertical::used(rh) && (!SPLIT || int(rh) == RH)) {
            constexpr int A = SPLIT ? 0 : Vertical::rank(rh);
            bool rows[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) rows[r] = reached<Vertical, int(rh)>(q_h + r, place.height);
            static_for<0, SW>([&](auto rw) {
                if constexpr (Horizontal::used(rw)) {
#pragma unroll
                    for (int w = 0; w < COLUMNS; ++w) {
                        const bool column = reached<Horizontal, int(rw)>(q_w + w, place.width);
#pragma unroll
                        for (int r = 0; r < ROWS; ++r)
#pragma unroll
                            for (int o = 0; o < CHANNELS; ++o)
                                if (!(rows[r] && column)) sums[A][Horizontal::rank(rw)][o][r][w] = EXACT_ZERO;
                    }
                }
            });
        }
    });
}

// The runs of a warp's 32 threads, as they lie in its slab, leave as whole lines.
__device__ __forceinline__ void store_slab(const ConvtArgs& args, const Place& place, const float* slab, int row_in_thread,
                                           int rh, long long channel_offset, const EpilogueChannel& channel) {
    const int lane = threadIdx.x % 32;
    const int first = (threadIdx.x - lane) % PLACES;  // the place of lane 0
    constexpr int LANES = THREADS_X % 32 == 0 ? 32 : THREADS_X, LINE = LANES * RUN;  // of a row in a warp
    if constexpr (32 % LANES == 0 && LINE % VECTOR == 0) {
        const int at = first + lane / LANES * LANES;
        const index_t h = index_t(place.q_h + at / THREADS_X * ROWS + row_in_thread) * SH + rh;
        const index_t w = index_t(place.q_w + at % THREADS_X * COLUMNS) * SW;
        if (h < place.out_height && w < place.out_width)
            store_line<ceil_div(LINE, LANES * VECTOR)>(args, channel_offset + h * place.out_width + w,
                                                       int(min(index_t(LINE), place.out_width - w)), lane % LANES, LANES,
                                                       channel, SlabRow{slab + lane / LANES * LINE});
    } else {
#pragma unroll 1
        for (int e = lane; e < SLAB; e += 32) {
            const int at = first + e / RUN;
            const index_t row = index_t(place.q_h + at / THREADS_X * ROWS + row_in_thread) * SH + rh;
            const index_t column = index_t(place.q_w + at % THREADS_X * COLUMNS) * SW + e % RUN;
            if (row < place.out_height && column < place.out_width)
                store_finished<1>(args, channel_offset + row * place.out_width + column, slab + e, channel);
        }
    }
}

template <int WIDE>
__device__ __forceinline__ void store_run(const ConvtArgs& args, const Place& place, const float (&run)[RUN], index_t h,
                                          index_t w, long long channel_offset, const EpilogueChannel& channel) {
    constexpr int V = widest(RUN, WIDE);
    if (h >= place.out_height) return;
#pragma unroll
    for (int i = 0; i < RUN; i += V)
        if (w + i < place.out_width)
            store_finished<V>(args, channel_offset + h * place.out_width + w + i, run + i, channel);
}

// Calls f with the planned width of stores where the rows of this launch allow it, else with one element.
template <class F>
__device__ __forceinline__ void with_width(int widest, F&& f) {
    if (widest >= plan::STORE_WIDTH)
        f(Int<plan::STORE_WIDTH>{});
    else if constexpr (plan::STORE_WIDTH > 1)
        f(Int<1>{});
}

// ---------------------------------------------------------------- one block
__device__ __forceinline__ void compute_block(const ConvtArgs& args, const Place& place, int load_width, int store_width) {
    char* const shared = shared_memory();
    float* const weight_ring = reinterpret_cast<float*>(shared + INPUT_BYTES);
    EpilogueChannel* const finish = reinterpret_cast<EpilogueChannel*>(weight_ring + STAGES * WEIGHT_STAGE / 4);
    float* const slabs = weight_ring + STAGES * WEIGHT_STAGE / 4 + FINISH_BYTES / 4;

    const int thread = threadIdx.x;
    const int tx = thread % THREADS_X, ty = thread / THREADS_X % THREADS_Y;
    const int vector = thread / PLACES % plan::CHANNEL_THREADS;
    const int row_set = thread / (PLACES * plan::CHANNEL_THREADS) % PHASE_THREADS;
    const int share = plan::REDUCTION_THREADS > 1 ? thread / TEAM : 0;
    const int chunks = place.taps_d * DEPTH_CHUNKS;

    const auto input_stage = [&](int chunk) { return reinterpret_cast<Element*>(shared + chunk % STAGES * INPUT_STAGE); };
    const auto weight_stage = [&](int chunk) { return weight_ring + chunk % STAGES * (WEIGHT_STAGE / 4); };
    index_t kept[4];  // this thread's pixels, the same in every chunk
    if constexpr (Pieces<VECTOR>::KEPT) {
#pragma unroll
        for (int k = 0; k < Pieces<VECTOR>::EACH; ++k)
            kept[k] = Pieces<VECTOR>::pixel(place, threadIdx.x + k * THREADS);
    }
    const auto load_chunk = [&](int chunk) {
        const int tap = chunk / DEPTH_CHUNKS, first = chunk % DEPTH_CHUNKS * plan::CHUNK;
        const int channels = min(plan::CHUNK, layer::IN_PER_GROUP - first);
        const index_t d = place.first_d - tap * layer::OFFSET_STEP_D;
        if (load_width == VECTOR)
            stage_input<VECTOR>(place, input_stage(chunk), d, first, channels, kept);
        else if (VECTOR == 8 && load_width >= 2)
            stage_input<VECTOR == 8 ? 2 : 1>(place, input_stage(chunk), d, first, channels, kept);
        else
            stage_input<1>(place, input_stage(chunk), d, first, channels, kept);
        stage_weights(place, weight_stage(chunk), place.first_tap_d + tap * layer::TAP_STEP_D, first, channels, 0);
    };

#pragma unroll 1
    for (int s = 0; s < (RESIDENT ? STAGES : STAGES - 1); ++s) {
        if (s < chunks) load_chunk(s);
        copy_async_commit();
    }
    if constexpr (layer::HAS_BIAS || layer::AFFINE)  // here, so that no thread waits for them before its stores
#pragma unroll 1
        for (int o = threadIdx.x; o < place.channels; o += THREADS) finish[o] = epilogue_channel(args, place.channel + o);
    if (Vertical::used() < SH || chunks == 0) store_bias_rows(args, place, chunks == 0);
    if (chunks == 0) return;

    const int q_h = place.q_h + ty * ROWS, q_w = place.q_w + tx * COLUMNS;
    [[maybe_unused]] const bool inner = all_reached<Vertical, layer::OFFSET_STEP_H>(q_h, ROWS, place.height, place.out_height) &&
                       all_reached<Horizontal, layer::OFFSET_STEP_W>(q_w, COLUMNS, place.width, place.out_width);

#pragma unroll 1
    for (int turn = 0; turn < TURNS; ++turn) {
        const int my_vector = vector + turn * plan::CHANNEL_THREADS;
        static_for<0, (plan::ROW_PHASES == IN_TURN ? SH : 1)>([&](auto item) {
            if constexpr (plan::ROW_PHASES != IN_TURN || Vertical::used(item)) {
                constexpr bool FIRST = plan::ROW_PHASES != IN_TURN || Vertical::rank(item) == 0;
                const auto with_row_phase = [&](auto&& f) {  // this thread's row phase as a constant
                    if constexpr (plan::ROW_PHASES == SIDE_BY_SIDE)
                        static_for<0, SH>([&](auto rh) {
                            if constexpr (Vertical::used(rh))
                                if (row_set == Vertical::rank(rh)) f(rh);
                        });
                    else
                        f(item);
                };
                float sums[ROW_SETS][COLUMN_SETS][CHANNELS][ROWS][COLUMNS] = {};
                float total[plan::JOIN > 0 ? SUMS : 1] = {};
                const auto join = [&] {
                    float* const flat = &sums[0][0][0][0][0];
#pragma unroll
                    for (int i = 0; i < SUMS; ++i) {
                        total[plan::JOIN > 0 ? i : 0] += flat[i];
                        flat[i] = 0.0f;
                    }
                };

#pragma unroll 1
                for (int chunk = 0; chunk < chunks; ++chunk) {
                    if constexpr (RESIDENT) {
                        if (FIRST && turn == 0) {
                            // Group s holds chunk s: later groups may still fly.
                            static_for<0, STAGES>([&](auto newest) {
                                if (STAGES - 1 - chunk == newest) copy_async_wait<newest>();
                            });
                            __syncthreads();
                        }
                    } else {
                        copy_async_wait<STAGES - 2>();
                        __syncthreads();
                        if (chunk + STAGES - 1 < chunks) load_chunk(chunk + STAGES - 1);
                        copy_async_commit();
                    }
                    with_row_phase([&](auto rh) {
                        accumulate<rh>(input_stage(chunk) + ty * ROWS * TILE_W + tx * COLUMNS,
                                       weight_stage(chunk) + my_vector * plan::CHUNK * WEIGHT_PITCH, share, sums);
                    });
                    if constexpr (plan::JOIN > 0)
                        if ((chunk + 1) % plan::JOIN == 0) join();
                }
                if constexpr (plan::JOIN > 0) {
                    join();
                    float* const flat = &sums[0][0][0][0][0];
#pragma unroll
                    for (int i = 0; i < SUMS; ++i) flat[i] = total[i];
                }

                if constexpr (plan::REDUCTION_THREADS > 1) {  // add the shares: share t finishes every t-th run
                    constexpr int PER = COLUMN_SETS * COLUMNS;
                    float* const exchange = reinterpret_cast<float*>(shared) + thread % TEAM;
                    copy_async_wait<0>();
                    __syncthreads();
                    static_for<0, ROW_SETS * CHANNELS * ROWS>([&](auto id) {
                        constexpr int A = id / (CHANNELS * ROWS), O = id / ROWS % CHANNELS, R = id % ROWS;
                        if (id % plan::REDUCTION_THREADS != share)
#pragma unroll
                            for (int k = 0; k < PER; ++k)
                                exchange[((id * PER + k) * plan::REDUCTION_THREADS + share) * TEAM] =
                                    sums[A][k / COLUMNS][O][R][k % COLUMNS];
                    });
                    __syncthreads();
                    static_for<0, ROW_SETS * CHANNELS * ROWS>([&](auto id) {
                        constexpr int A = id / (CHANNELS * ROWS), O = id / ROWS % CHANNELS, R = id % ROWS;
                        if (id % plan::REDUCTION_THREADS == share)
#pragma unroll
                            for (int s = 1; s < plan::REDUCTION_THREADS; ++s)
#pragma unroll
                                for (int k = 0; k < PER; ++k)
                                    sums[A][k / COLUMNS][O][R][k % COLUMNS] +=
                                        exchange[((id * PER + k) * plan::REDUCTION_THREADS +
                                                  (share + s) % plan::REDUCTION_THREADS) *
                                                 TEAM];
                    });
                }

                // For every channel, row phase and row of positions one run of COLUMNS*SW outputs.
                with_row_phase([&](auto phase) {
                    [[maybe_unused]] constexpr int PHASE = phase;
                    if constexpr (!(layer::ALL_REACHED_H && layer::ALL_REACHED_W))
                        if (!inner) forget_unreached<PHASE>(place, q_h, q_w, sums);
#pragma unroll
                    for (int o = 0; o < CHANNELS; ++o) {
                        const int output = my_vector * CHANNELS + o;
                        const bool exists = output < place.channels;
                        EpilogueChannel channel;
                        if constexpr (layer::HAS_BIAS || layer::AFFINE)
                            if (exists) channel = finish[output];
                        const long long offset = place.y + output * place.out_plane;
                        static_for<0, SH>([&](auto rh) {
                            if constexpr (Vertical::used(rh) && (!SPLIT || int(rh) == PHASE)) {
                                constexpr int A = SPLIT ? 0 : Vertical::rank(rh);
#pragma unroll
                                for (int r = 0; r < ROWS; ++r) {
                                    if (plan::REDUCTION_THREADS > 1 &&
                                        ((A * CHANNELS + o) * ROWS + r) % plan::REDUCTION_THREADS != share)
                                        continue;
                                    float run[RUN];
                                    static_for<0, SW>([&](auto rw) {
#pragma unroll
                                        for (int w = 0; w < COLUMNS; ++w) {
                                            if constexpr (Horizontal::used(rw))
                                                run[w * SW + rw] = sums[A][Horizontal::rank(rw)][o][r][w];
                                            else
                                                run[w * SW + rw] = EXACT_ZERO;
                                        }
                                    });
                                    if constexpr (plan::SLABS) {
                                        float* const slab = slabs + thread / 32 * SLAB;
                                        constexpr int V = widest(RUN, 4);
                                        __syncwarp();
#pragma unroll
                                        for (int i = 0; i < RUN; i += V) {
                                            Vector<float, V> v;
#pragma unroll
                                            for (int e = 0; e < V; ++e) v[e] = run[i + e];
                                            *reinterpret_cast<Vector<float, V>*>(slab + thread % 32 * RUN + i) = v;
                                        }
                                        __syncwarp();
                                        if (exists) store_slab(args, place, slab, r, rh, offset, channel);
                                    } else if (exists) {
                                        with_width(store_width, [&](auto wide) {
                                            store_run<wide>(args, place, run, index_t(q_h + r) * SH + int(rh),
                                                            index_t(q_w) * SW, offset, channel);
                                        });
                                    }
                                }
                            }
                        });
                    }
                });
            }
        });
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, plan::MIN_BLOCKS)
    CONVT_ENTRY(const __grid_constant__ ConvtArgs args) {
    Place place;
    place.depth = index_t(args.in[0]), place.height = index_t(args.in[1]), place.width = index_t(args.in[2]);
    place.plane = place.height * place.width;
    place.out_height = index_t(args.out[1]), place.out_width = index_t(args.out[2]);
    const index_t out_depth = index_t(args.out[0]);
    place.out_plane = out_depth * place.out_height * place.out_width;
    const index_t tiles_w = ceil_div(ceil_div(place.out_width, index_t(SW)), index_t(plan::POSITIONS_W));
    const index_t tiles_h = ceil_div(ceil_div(place.out_height, index_t(SH)), index_t(plan::POSITIONS_H));
    constexpr int BLOCKS = layer::GROUPS * CHANNEL_BLOCKS;
    const long long n = (args.first_block[2] + blockIdx.z) / (plan::ORDER == PLANES ? BLOCKS : 1);
    const count_t row = count_t(args.first_block[1]) + blockIdx.y, column = count_t(args.first_block[0]) + blockIdx.x;
    const long long in_sample = (long long)place.depth * place.plane * layer::IN_CHANNELS;
    const long long out_sample = (long long)place.out_plane * layer::OUT_CHANNELS;
    const int load_width = widest_access(place.width, args.x, args.x, args.x);
    const int store_width = widest_access(place.out_width, args.y, layer::RESIDUAL ? args.residual : args.y, args.y);

    const index_t d = out_depth == 1 ? 0 : index_t(row / count_t(tiles_h));
    const int channel_block = plan::ORDER == PLANES   ? int((args.first_block[2] + blockIdx.z) % BLOCKS)
                              : plan::ORDER == INPUTS ? int(column % BLOCKS)
                                                      : int(column / count_t(tiles_w));
    place.q_w = int(plan::ORDER == PLANES   ? column
                    : plan::ORDER == INPUTS ? column / BLOCKS
                                            : column % count_t(tiles_w)) * plan::POSITIONS_W;
    place.q_h = int(row - count_t(d) * count_t(tiles_h)) * plan::POSITIONS_H;
    const int group = channel_block / CHANNEL_BLOCKS, first = channel_block % CHANNEL_BLOCKS * plan::BLOCK_CHANNELS;
    place.channel = group * layer::OUT_PER_GROUP + first;
    place.channels = min(plan::BLOCK_CHANNELS, layer::OUT_PER_GROUP - first);
    place.x = static_cast<const Element*>(args.x) + n * in_sample +
              (long long)group * layer::IN_PER_GROUP * place.depth * place.plane;
    place.w = static_cast<const Element*>(args.w) +
              ((long long)group * layer::IN_PER_GROUP * layer::OUT_PER_GROUP + first) * (layer::KERNEL_D * KH * KW);
    place.y = n * out_sample + place.channel * (long long)place.out_plane + d * place.out_height * place.out_width;

    find_depth_taps(place, d);
    compute_block(args, place, load_width, store_width);
}
