// implicit_gemm: transposed convolution as matrix products on tensor cores (mma.sync). NC* tensors.
//
// Outputs are written o = STRIDE*q + r per axis. A block owns POSITIONS_H x POSITIONS_W positions q of one output depth,
// one row phase, all column phases and BLOCK_CHANNELS output channels of one group. Rows of the product are output
// channels, columns are positions, and the sum runs over taps and input channels. The input tile of a chunk of channels
// lies in shared memory once, as planes of words (device/mma.cuh): a tap is nothing but another first position in them.
// Weights lie there in the order in which lanes hold them, as they do in packed memory. Depth taps of a plane only
// lengthen the loop over chunks. Sums go through a slab of shared memory, where column phases come to lie side by side,
// and leave as whole lines. Where there are too few blocks, plan::SPLIT of them share the chunks of one tile, and leave
// their sums to device/reduce.cuh.

// ---------------------------------------------------------------- constants of the tile
enum Order { INPUTS, PLANES };                 // which blocks run side by side: that read, or write, the same
constexpr bool NARROW = sizeof(Element) == 2;  // a word holds two channels
constexpr bool SPLIT_FACTORS = !NARROW && !layer::TF32;  // f32 factors are sums of two tf32 numbers
constexpr int WORD_CHANNELS = NARROW ? 2 : 1;
constexpr int CHUNK_WORDS = plan::CHUNK / WORD_CHANNELS, STEPS = CHUNK_WORDS / 8;  // an mma sums over 8 words
constexpr int WARPS = plan::WARPS_M * plan::WARPS_N, THREADS = 32 * WARPS;
constexpr int M_TILES = plan::BLOCK_CHANNELS / 16, WARP_M = M_TILES / plan::WARPS_M;
constexpr int ROW_TILES = plan::POSITIONS_W / 8, WARP_N = plan::POSITIONS_H * ROW_TILES / plan::WARPS_N;
static_assert(ROW_TILES % WARP_N == 0 || WARP_N % ROW_TILES == 0, "a warp has a part of one row, or whole rows");
constexpr int CHANNEL_BLOCKS = ceil_div(layer::OUT_PER_GROUP, plan::BLOCK_CHANNELS);

constexpr int TAPS_H = ceil_div(KH, layer::TAP_STEP_H);  // of a row phase, at most
constexpr int TILE_H = plan::POSITIONS_H + (TAPS_H - 1) * layer::OFFSET_STEP_H;
constexpr int FIRST_COLUMN = floor_to(Horizontal::low(), VECTOR);  // tiles start where a vector of the image starts
constexpr int TILE_W = round_up(plan::POSITIONS_W + Horizontal::high() - FIRST_COLUMN, VECTOR);
// Lanes read 8 positions of 4 planes at a time: planes are 8 banks apart.
constexpr int PLANE = TILE_H * TILE_W + (40 - TILE_H * TILE_W % 32) % 32;
constexpr int DEPTH_TAPS = ceil_div(layer::KERNEL_D, layer::TAP_STEP_D);  // of one output depth, at most
constexpr int DEPTH_CHUNKS = ceil_div(layer::IN_PER_GROUP, plan::CHUNK);
constexpr int MOST_CHUNKS = ceil_div(DEPTH_TAPS * DEPTH_CHUNKS, plan::SPLIT);  // of one block
constexpr int STAGES = plan::STAGES < MOST_CHUNKS ? plan::STAGES : MOST_CHUNKS;

constexpr int COLUMN_SETS = Horizontal::used();
constexpr int LINE = plan::POSITIONS_W * SW;  // outputs of a block in one row
constexpr int SLAB_CHANNELS = 16 * plan::WARPS_M;
// Lanes write runs of 2*SW outputs of 4 positions and 8 channels: where a run is one or two vectors, they use all banks.
constexpr int SLAB_PITCH = plan::POSITIONS_H * LINE + (SW == 2 ? 48 - plan::POSITIONS_H * LINE % 32
                                                               : 40 - plan::POSITIONS_H * LINE % 32) % 32;

constexpr int TAP_WORDS = STEPS * M_TILES * 128;  // weights of one tap and chunk
constexpr int INPUT_STAGE = CHUNK_WORDS * PLANE, WEIGHT_STAGE = TAPS_H * KW * TAP_WORDS;  // words
constexpr int USED_ROWS = layer::TAP_STEP_H < KH ? layer::TAP_STEP_H : KH;  // row phases that have taps
// Packed weights of one channel block and row phase.
constexpr long long PHASE_WORDS = (long long)layer::KERNEL_D * DEPTH_CHUNKS * WEIGHT_STAGE;
static_assert(plan::PACKED_BYTES == 4 * PHASE_WORDS * USED_ROWS * CHANNEL_BLOCKS * layer::GROUPS,
              "ImplicitGemmTile::packed_bytes says otherwise");
constexpr int RING = STAGES * (INPUT_STAGE + WEIGHT_STAGE);
constexpr int SLAB = SLAB_CHANNELS * SLAB_PITCH;
constexpr int FINISH = RING > SLAB ? RING : SLAB;  // where the channels' epilogue parts are

// ---------------------------------------------------------------- loads
// Offset within a plane of the image of an element of the tile; negative outside.
__device__ __forceinline__ index_t pixel(const Place& place, const Rows& rows, int row, int column) {
    const int h = place.q_h + rows.low + row, w = place.q_w + FIRST_COLUMN + column;
    const bool inside = h >= 0 && h < place.height && w >= 0 && w < place.width;
    return inside ? index_t(h) * place.width + w : index_t(-1);
}

// Starts copies of one chunk of 4-byte elements, WIDE at a time. Rows of the image divide by WIDE, so a vector is inside
// the image or outside of it.
template <int WIDE>
__device__ __forceinline__ void copy_input(const Place& place, const Rows& rows, unsigned* staged, const Element* from,
                                           int channels) {
    constexpr int VECTORS = TILE_W / WIDE, PIECES = TILE_H * VECTORS;  // of one channel
    // Threads side by side cover this many channels, and then step over channels without index arithmetic.
    constexpr int BESIDE = gcd(plan::CHUNK, floor_power_of_two(THREADS / PIECES > 0 ? THREADS / PIECES : 1));
    const index_t channel_pitch = place.depth * place.plane;
#pragma unroll 1
    for (int i = threadIdx.x; i < PIECES * BESIDE; i += THREADS) {
        const int c0 = i / PIECES, row = i / VECTORS % TILE_H, column = i % VECTORS * WIDE;
        const index_t at = pixel(place, rows, row, column);
        const Element* source = at >= 0 ? from + c0 * channel_pitch + at : place.x;
        unsigned* const target = staged + c0 * PLANE + row * TILE_W + column;
#pragma unroll
        for (int c = 0; c < plan::CHUNK; c += BESIDE) {
            const bool exists = at >= 0 && (layer::IN_PER_GROUP % plan::CHUNK == 0 || c0 + c < channels);
            copy_async<WIDE * int(sizeof(Element))>(target + c * PLANE, exists ? source + c * channel_pitch : place.x, exists);
        }
    }
}

// Input of 2-byte elements: two rows of neighbouring channels become one row of words on their way through registers.
struct Held {
    static constexpr int VECTORS = TILE_W / 8, PIECES = CHUNK_WORDS * TILE_H * VECTORS, EACH = ceil_div(PIECES, THREADS);
    Vector<unsigned short, 8> rows[EACH][2];
};
__device__ __forceinline__ void load_held(const Place& place, const Rows& rows, const Element* from, int channels,
                                          Held& held) {
    const index_t channel_pitch = place.depth * place.plane;
#pragma unroll
    for (int k = 0; k < Held::EACH; ++k) {
        const int i = threadIdx.x + k * THREADS, c = i / (TILE_H * Held::VECTORS) * 2;
        const index_t at = pixel(place, rows, i / Held::VECTORS % TILE_H, i % Held::VECTORS * 8);
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            const bool exists = at >= 0 && c + e < min(plan::CHUNK, channels);
            if (exists)
                held.rows[k][e] = load_global(reinterpret_cast<const Vector<unsigned short, 8>*>(
                    from + (c + e) * channel_pitch + at));
            else
                held.rows[k][e] = {};
        }
    }
}
__device__ __forceinline__ void store_held(unsigned* staged, const Held& held) {
#pragma unroll
    for (int k = 0; k < Held::EACH; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (Held::PIECES % THREADS != 0 && i >= Held::PIECES) break;
        unsigned* const target = staged + i / (TILE_H * Held::VECTORS) * PLANE + i / Held::VECTORS % TILE_H * TILE_W +
                                 i % Held::VECTORS * 8;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            Vector<unsigned, 4> words;
#pragma unroll
            for (int e = 0; e < 4; ++e) words[e] = word_of(held.rows[k][0][4 * half + e], held.rows[k][1][4 * half + e]);
            *reinterpret_cast<Vector<unsigned, 4>*>(target + 4 * half) = words;
        }
    }
}
// The same one by one, where rows of the image are not aligned.
__device__ __forceinline__ void zip_input(const Place& place, const Rows& rows, unsigned* staged, const Element* from,
                                          int channels) {
    const index_t channel_pitch = place.depth * place.plane;
#pragma unroll 4
    for (int i = threadIdx.x; i < CHUNK_WORDS * TILE_H * TILE_W; i += THREADS) {
        const int c = i / (TILE_H * TILE_W), row = i / TILE_W % TILE_H, column = i % TILE_W;
        const index_t at = pixel(place, rows, row, column);
        const auto half = [&](int channel) {
            return at >= 0 && channel < channels
                       ? load_global(reinterpret_cast<const unsigned short*>(from + channel * channel_pitch + at))
                       : (unsigned short)0;
        };
        staged[c * PLANE + row * TILE_W + column] = word_of(half(2 * c), half(2 * c + 1));
    }
}

// Where the four words of a lane begin: such that lanes read 16 bytes each without conflicts, and that writers of one
// word of 8 channels meet no other bank.
__device__ __forceinline__ int slot_of(int group, int member) {
    return (group / 2 * 8 + ((member * 2 + group % 2) ^ (group / 2 * 2))) * 4;
}

// Starts copies of a chunk's weights, which are packed as they lie in shared memory.
__device__ __forceinline__ void copy_weights(const unsigned* packed, unsigned* staged, int taps) {
    constexpr int UNITS = KW * TAP_WORDS / 4, EACH = ceil_div(TAPS_H * UNITS, THREADS);
#pragma unroll(EACH <= 8 ? EACH : 4)
    for (int k = 0; k < EACH; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i < taps * UNITS) copy_async<16>(staged + 4 * i, packed + 4 * i);
    }
}

// Four words of a lane of the packed weights, [channel block of all groups][row phase, by its first tap][depth tap]
// [chunk][row tap][column tap][step][16 channels][lane][word], from PyTorch's order. Zeros are for what does not exist:
// channels, and taps that a row phase has fewer of than another.
template <class T>
__device__ __forceinline__ Vector<unsigned, 4> packed_unit(const T* w, unsigned long long unit) {
    const auto take = [&](int count) {  // the innermost of the indices that are left
        const int index = int(unit % unsigned(count));
        unit /= unsigned(count);
        return index;
    };
    const int slot = take(32), m = take(M_TILES), step = take(STEPS), kw = take(KW), j = take(TAPS_H);
    const int chunk = take(DEPTH_CHUNKS), tap_d = take(layer::KERNEL_D), first_tap = take(USED_ROWS);
    const int channel_block = take(CHANNEL_BLOCKS), group = int(unit);
    // slot_of(lane_group, member) == 4 * slot
    const int pair = slot / 8, rest = slot % 8 ^ pair * 2, lane_group = pair * 2 + rest % 2, member = rest / 2;

    const int kh = first_tap + j * layer::TAP_STEP_H;
    const int out = channel_block * plan::BLOCK_CHANNELS + m * 16 + lane_group;
    const int in = chunk * plan::CHUNK + (step * 8 + member) * WORD_CHANNELS;
    const auto weight = [&](int o, int c) {
        if (kh >= KH || o >= layer::OUT_PER_GROUP || c >= layer::IN_PER_GROUP) return T{};
        const long long channels = ((long long)group * layer::IN_PER_GROUP + c) * layer::OUT_PER_GROUP + o;
        return load_global(w + ((channels * layer::KERNEL_D + tap_d) * KH + kh) * KW + kw);
    };
    Vector<unsigned, 4> words;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int o = out + i % 2 * 8, c = in + i / 2 * 4 * WORD_CHANNELS;
        if constexpr (sizeof(T) == 2)
            words[i] = word_of(weight(o, c).bits, weight(o, c + 1).bits);
        else
            words[i] = __float_as_uint(weight(o, c));
    }
    return words;
}

// ---------------------------------------------------------------- products
// One tap and step: the sums of a warp.
__device__ __forceinline__ void multiply_step(const unsigned* input, const unsigned* weights,
                                              float (&sums)[WARP_M][WARP_N][4]) {
    unsigned a[WARP_M][4], b[WARP_N][2];
    [[maybe_unused]] unsigned a_low[WARP_M][4], b_low[WARP_N][2];
    const auto convert = [](unsigned word, unsigned& high, unsigned& low) {
        if constexpr (SPLIT_FACTORS)
            tf32_words(__uint_as_float(word), high, low);
        else
            high = NARROW ? word : tf32_word(__uint_as_float(word));
    };
#pragma unroll
    for (int m = 0; m < WARP_M; ++m) {
        const Vector<unsigned, 4> words = *reinterpret_cast<const Vector<unsigned, 4>*>(weights + m * 128);
#pragma unroll
        for (int i = 0; i < 4; ++i) convert(words[i], a[m][i], a_low[m][i]);
    }
#pragma unroll
    for (int n = 0; n < WARP_N; ++n) {
        const unsigned* const from = input + (WARP_N % ROW_TILES == 0 ? n / ROW_TILES * TILE_W + n % ROW_TILES * 8 : n * 8);
#pragma unroll
        for (int i = 0; i < 2; ++i) convert(from[i * 4 * PLANE], b[n][i], b_low[n][i]);
    }
    const auto all = [&](const auto& left, const auto& right) {
#pragma unroll
        for (int n = 0; n < WARP_N; ++n)
#pragma unroll
            for (int m = 0; m < WARP_M; ++m) mma<Element>(sums[m][n], left[m], right[n]);
    };
    if constexpr (SPLIT_FACTORS) {  // the small ones first
        all(a_low, b);
        all(a, b_low);
    }
    all(a, b);
}

__device__ __forceinline__ void join(float (&partial)[WARP_M][WARP_N][4], float (&total)[WARP_M][WARP_N][4]) {
#pragma unroll
    for (int m = 0; m < WARP_M; ++m)
#pragma unroll
        for (int n = 0; n < WARP_N; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                total[m][n][i] += partial[m][n][i];
                partial[m][n][i] = 0.0f;
            }
}

// Products of one staged chunk. `input` and `weights` are where this lane begins. Column taps are unrolled; of the rest as
// much as the compiler bears without loading ahead more than registers hold.
__device__ __forceinline__ void multiply_chunk(const unsigned* input, const unsigned* weights, int taps,
                                               float (&sums)[COLUMN_SETS][WARP_M][WARP_N][4]) {
    constexpr int PRODUCTS = KW * WARP_M * WARP_N * (SPLIT_FACTORS ? 3 : 1);
#pragma unroll 1
    for (int j = 0; j < taps; ++j) {
#pragma unroll(PRODUCTS <= 32 ? 2 : 1)
        for (int step = 0; step < STEPS; ++step) {
            const unsigned* const row = input + (taps - 1 - j) * (layer::OFFSET_STEP_H * TILE_W) + step * (8 * PLANE);
            const unsigned* const factors = weights + j * (KW * TAP_WORDS) + step * (M_TILES * 128);
            static_for<0, SW>([&](auto rw) {
                if constexpr (Horizontal::used(rw)) {
                    constexpr int PHASE = decltype(rw)::value, SET = Horizontal::rank(PHASE);
                    constexpr int TAPS = Horizontal::taps(PHASE);
                    [[maybe_unused]] float partial[WARP_M][WARP_N][4] = {};
                    static_for<0, TAPS>([&](auto item) {
                        constexpr int I = decltype(item)::value, TAP = Horizontal::sorted(Horizontal::first(PHASE) + I);
                        constexpr int AT = Horizontal::offset(TAP) - FIRST_COLUMN;
                        if constexpr (plan::JOIN == 0) {
                            multiply_step(row + AT, factors + TAP * TAP_WORDS, sums[SET]);
                        } else {
                            // Tensor cores cut their sums off, and long ones drift: few products join the total at a time.
                            multiply_step(row + AT, factors + TAP * TAP_WORDS, partial);
                            if constexpr ((I + 1) % plan::JOIN == 0 || I + 1 == TAPS) join(partial, sums[SET]);
                        }
                    });
                }
            });
        }
    }
}

// ---------------------------------------------------------------- stores
// What no tap inside the image reaches is exactly zero, whatever weights the zeros beyond it met. q_h, q_w: of the lane's
// first sum.
__device__ __forceinline__ void forget_unreached(const Place& place, const Rows& rows, int q_h, int q_w,
                                                 float (&sums)[COLUMN_SETS][WARP_M][WARP_N][4]) {
#pragma unroll
    for (int n = 0; n < WARP_N; ++n) {
        const int h = q_h + (WARP_N % ROW_TILES == 0 ? n / ROW_TILES : 0);
        const int w = q_w + (WARP_N % ROW_TILES == 0 ? n % ROW_TILES : n) * 8;
        bool row = false;
#pragma unroll 1
        for (int j = 0; j < rows.taps; ++j)
            row = row | (count_t(index_t(h + rows.high - j * layer::OFFSET_STEP_H)) < count_t(place.height));
        static_for<0, SW>([&](auto rw) {
            if constexpr (Horizontal::used(rw)) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const bool keep = row && reached<Horizontal, int(rw)>(w + e, place.width);
#pragma unroll
                    for (int m = 0; m < WARP_M; ++m) {
                        float(&four)[4] = sums[Horizontal::rank(rw)][m][n];
                        if (!keep) four[e] = EXACT_ZERO;
                        if (!keep) four[2 + e] = EXACT_ZERO;
                    }
                }
            }
        });
    }
}

// The chunks of a tile, [depth tap][channels], that a block sums.
struct Part {
    int first, count;
};
// The channels of a depth tap among them.
struct Channels {
    int first, end;
};
__device__ __forceinline__ Channels channels_of(const Part& part, int d) {
    if constexpr (plan::SPLIT == 1) return {0, layer::IN_PER_GROUP};
    const int before = part.first - d * DEPTH_CHUNKS;
    return {max(before, 0) * plan::CHUNK,
            min(max(min(before + part.count, DEPTH_CHUNKS), 0) * plan::CHUNK, layer::IN_PER_GROUP)};
}

// One sum by the definition, for those that came out as NaN because a factor could not be split.
__device__ __forceinline__ float plain_sum(const Place& place, const Rows& rows, const Part& part, int channel,
                                           index_t q_h, index_t w) {
    float sum = 0;
#pragma unroll 1
    for (int d = 0; d < place.taps_d; ++d) {
        const Channels channels = channels_of(part, d);
#pragma unroll 1
        for (int j = 0; j < rows.taps; ++j)
#pragma unroll 1
            for (int kw = 0; kw < KW; ++kw) {
                const index_t h = q_h + rows.high - j * layer::OFFSET_STEP_H;
                const index_t at = w + layer::PAD_W - kw * layer::DILATION_W;
                if (h < 0 || h >= place.height || at < 0 || at % SW != 0 || at / SW >= place.width) continue;
                const Element* x = place.x +
                                   (channels.first * place.depth + place.first_d - d * layer::OFFSET_STEP_D) * place.plane +
                                   h * place.width + at / SW;
                const int kd = place.first_tap_d + d * layer::TAP_STEP_D, kh = rows.first_tap + j * layer::TAP_STEP_H;
                const Element* factor =
                    place.w +
                    (((plan::weight_index_t(channels.first) * layer::OUT_PER_GROUP + channel) * layer::KERNEL_D + kd) * KH +
                     kh) * KW + kw;
#pragma unroll 1
                for (int c = channels.first; c < channels.end; ++c) {
                    sum = fmaf(to_float(load_global(x)), to_float(load_global(factor)), sum);
                    if (sum != sum) return sum;  // and stays so
                    x += place.depth * place.plane;
                    factor += plan::weight_index_t(layer::OUT_PER_GROUP) * layer::KERNEL_D * KH * KW;
                }
            }
    }
    return sum;
}

// Writes lines of the block, finished or as partial sums: `channels` times POSITIONS_H. channel_of: a line's channel within
// the block; values_of: its sums.
template <class ChannelOf, class ValuesOf>
__device__ __forceinline__ void store_lines(const ConvtArgs& args, const Place& place, int phase, int channels,
                                            const EpilogueChannel* finish, const ChannelOf& channel_of,
                                            const ValuesOf& values_of) {
    constexpr int UNIT = plan::SPLIT > 1 ? 1 : VECTOR;  // partial sums leave as words, side by side
    constexpr int LANES = LINE / UNIT < 32 ? floor_power_of_two(LINE / UNIT) : 32;
    const index_t first = index_t(place.q_w) * SW;
    const int count = int(min(index_t(LINE), place.out_width - first));
#pragma unroll 1
    for (int i = threadIdx.x / LANES; i < channels * plan::POSITIONS_H; i += THREADS / LANES) {
        const int line = i / plan::POSITIONS_H, row = i % plan::POSITIONS_H, channel = channel_of(line);
        const index_t h = index_t(place.q_h + row) * SH + phase;
        if (h >= place.out_height || channel >= place.channels) continue;
        const long long at = place.y + channel * (long long)place.out_plane + h * place.out_width + first;
        if constexpr (plan::SPLIT > 1) {
            const auto values = values_of(line, row);
            for (int e = threadIdx.x % LANES; e < count; e += LANES)
                store_global_for_next(args.workspace + at + e, values.at(e));
            continue;
        }
        EpilogueChannel parts;
        if constexpr (layer::HAS_BIAS || layer::AFFINE) parts = finish[channel];
        store_line<ceil_div(LINE, LANES * VECTOR)>(args, at, count, threadIdx.x % LANES, LANES, parts, values_of(line, row));
    }
}

// The sums of 16 channels of a warp as runs of outputs, column phases side by side. Where one is not finite, `probe`
// becomes NaN.
template <int M>
__device__ __forceinline__ void write_slab(float* target, const float (&sums)[COLUMN_SETS][WARP_M][WARP_N][4],
                                           float& probe) {
    constexpr int RUN = 2 * SW, V = widest(RUN, 4);
#pragma unroll
    for (int n = 0; n < WARP_N; ++n)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float run[RUN];
            static_for<0, RUN>([&](auto at) {
                constexpr int E = decltype(at)::value / SW, R = decltype(at)::value % SW;
                if constexpr (Horizontal::used(R)) {
                    run[at] = sums[Horizontal::rank(R)][M][n][2 * half + E];
                    if constexpr (SPLIT_FACTORS) probe = fmaf(run[at], 0.0f, probe);
                } else {
                    run[at] = EXACT_ZERO;
                }
            });
#pragma unroll
            for (int i = 0; i < RUN; i += V) {
                Vector<float, V> v;
#pragma unroll
                for (int e = 0; e < V; ++e) v[e] = run[i + e];
                *reinterpret_cast<Vector<float, V>*>(target + half * 8 * SLAB_PITCH + n * (8 * SW) + i) = v;
            }
        }
}

__device__ __forceinline__ void store_sums(const ConvtArgs& args, const Place& place, const Rows& rows, const Part& part,
                                           int phase, float* slab, const EpilogueChannel* finish, int* failed,
                                           const float (&sums)[COLUMN_SETS][WARP_M][WARP_N][4]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % plan::WARPS_M, warp_n = warp / plan::WARPS_M;
    float* const target =
        slab + (warp_m * 16 + lane / 4) * SLAB_PITCH + warp_n * WARP_N * (8 * SW) + lane % 4 * (2 * SW);
#pragma unroll 1
    for (int turn = 0; turn < WARP_M; ++turn) {  // the code that stores is there once
        __syncthreads();
        [[maybe_unused]] float probe = 0;
        static_for<0, WARP_M>([&](auto m) {
            if (turn == m) write_slab<decltype(m)::value>(target, sums, probe);
        });
        const auto channel_of = [&](int line) { return (line / 16 * WARP_M + turn) * 16 + line % 16; };
        if constexpr (SPLIT_FACTORS) {
            if (probe != 0.0f) *failed = 1;  // NaN, and so are all that are not finite
            __syncthreads();
            if (*failed != 0) {
#pragma unroll 1
                for (int i = threadIdx.x; i < SLAB_CHANNELS * plan::POSITIONS_H * LINE; i += THREADS) {
                    const int line = i / (plan::POSITIONS_H * LINE), row = i / LINE % plan::POSITIONS_H;
                    const int channel = channel_of(line);
                    const index_t w = index_t(place.q_w) * SW + i % LINE;
                    float& sum = slab[line * SLAB_PITCH + row * LINE + i % LINE];
                    if (sum != sum && channel < place.channels && w < place.out_width)
                        sum = plain_sum(place, rows, part, channel, place.q_h + row, w);
                }
            }
        }
        __syncthreads();
        store_lines(args, place, phase, SLAB_CHANNELS, finish, channel_of,
                    [&](int line, int row) { return SlabRow{slab + line * SLAB_PITCH + row * LINE}; });
    }
}

// ---------------------------------------------------------------- one block
// `packed`: weights of the channel block. `share`: which of the plan::SPLIT parts of the sums.
template <class T>  // Element: of what does not serve it nothing is compiled
__device__ __forceinline__ void compute_block(const ConvtArgs& args, const Place& place, const unsigned* packed, int phase,
                                              int share, bool aligned) {
    unsigned* const ring = reinterpret_cast<unsigned*>(shared_memory());
    EpilogueChannel* const finish = reinterpret_cast<EpilogueChannel*>(ring + FINISH);
    int* const failed = reinterpret_cast<int*>(finish + plan::BLOCK_CHANNELS);
    const Rows rows = rows_of(phase);
    const int all_chunks = rows.taps > 0 ? place.taps_d * DEPTH_CHUNKS : 0;
    const int first_chunk = all_chunks * share / plan::SPLIT, chunks = all_chunks * (share + 1) / plan::SPLIT - first_chunk;

    if constexpr ((layer::HAS_BIAS || layer::AFFINE) && plan::SPLIT == 1)
        for (int o = threadIdx.x; o < place.channels; o += THREADS) finish[o] = epilogue_channel(args, place.channel + o);
    if (threadIdx.x == 0) *failed = 0;
    if (all_chunks == 0) {
        __syncthreads();
        store_lines(args, place, phase, plan::BLOCK_CHANNELS, finish, [](int line) { return line; },
                    [](int, int) { return Nothing{}; });
        return;
    }

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % plan::WARPS_M, warp_n = warp / plan::WARPS_M;
    const int row = warp_n * WARP_N / ROW_TILES, column = warp_n * WARP_N % ROW_TILES * 8;
    const int input_at = lane % 4 * PLANE + row * TILE_W + column + lane / 4;
    const int weights_at = warp_m * WARP_M * 128 + slot_of(lane / 4, lane % 4);
    const auto input_stage = [&](int chunk) { return ring + chunk % STAGES * (INPUT_STAGE + WEIGHT_STAGE); };
    const auto weight_stage = [&](int chunk) { return input_stage(chunk) + INPUT_STAGE; };

    float sums[COLUMN_SETS][WARP_M][WARP_N][4] = {};
    const auto multiply = [&](int chunk) {
        multiply_chunk(input_stage(chunk) + input_at, weight_stage(chunk) + weights_at, rows.taps, sums);
    };
    packed += rows.first_tap * PHASE_WORDS;
    // Calls f with the first element, the number of channels and the weights of a chunk.
    const auto with_chunk = [&](int number, auto&& f) {
        const int chunk = first_chunk + number, tap = chunk / DEPTH_CHUNKS, first = chunk % DEPTH_CHUNKS * plan::CHUNK;
        const index_t d = place.first_d - tap * layer::OFFSET_STEP_D;
        const int stage = (place.first_tap_d + tap * layer::TAP_STEP_D) * DEPTH_CHUNKS + chunk % DEPTH_CHUNKS;
        f(place.x + (index_t(first) * place.depth + d) * place.plane, layer::IN_PER_GROUP - first,
          packed + (long long)stage * WEIGHT_STAGE);
    };

    if constexpr (sizeof(T) == 4) {
        const auto load = [&](int chunk) {
            with_chunk(chunk, [&](const Element* from, int channels, const unsigned* weights) {
                if (aligned)
                    copy_input<16 / int(sizeof(T))>(place, rows, input_stage(chunk), from, channels);
                else
                    copy_input<4 / int(sizeof(T))>(place, rows, input_stage(chunk), from, channels);
                copy_weights(weights, weight_stage(chunk), rows.taps);
            });
        };
        // Loads run ahead of products; both are in the code once.
        constexpr int AHEAD = STAGES > 1 ? STAGES - 1 : 1;
#pragma unroll 1
        for (int next = 0; next < chunks + AHEAD; ++next) {
            if (next >= AHEAD) {
                copy_async_wait<AHEAD - 1>();
                __syncthreads();
            }
            if (next < chunks) load(next);
            copy_async_commit();
            if (next >= AHEAD) multiply(next - AHEAD);
        }
        copy_async_wait<0>();
    } else {
        [[maybe_unused]] Held held;
        const auto begin = [&](int chunk) {
            with_chunk(chunk, [&](const Element* from, int channels, const unsigned* weights) {
                copy_weights(weights, weight_stage(chunk), rows.taps);
                copy_async_commit();
                if (aligned) load_held(place, rows, from, channels, held);
            });
        };
        const auto end = [&](int chunk) {
            if (aligned)
                store_held(input_stage(chunk), held);
            else
                with_chunk(chunk, [&](const Element* from, int channels, const unsigned*) {
                    zip_input(place, rows, input_stage(chunk), from, channels);
                });
            copy_async_wait<0>();
            __syncthreads();
        };
#pragma unroll 1
        for (int next = 0; next <= chunks; ++next) {  // it flies while the one before is multiplied
            if (next < chunks) begin(next);
            if (next > 0) multiply(next - 1);
            if (next < chunks) end(next);
        }
    }

    if constexpr (!(layer::ALL_REACHED_H && layer::ALL_REACHED_W))
        if (!(all_reached<Vertical, layer::OFFSET_STEP_H>(place.q_h, plan::POSITIONS_H, place.height, place.out_height) &&
              all_reached<Horizontal, layer::OFFSET_STEP_W>(place.q_w, plan::POSITIONS_W, place.width, place.out_width)))
            forget_unreached(place, rows, place.q_h + row, place.q_w + column + lane % 4 * 2, sums);
    store_sums(args, place, rows, {first_chunk, chunks}, phase, reinterpret_cast<float*>(ring), finish, failed, sums);
}

extern "C" __global__ void __launch_bounds__(THREADS, plan::MIN_BLOCKS)
    CONVT_ENTRY(const __grid_constant__ ConvtArgs args) {
    Place place;
    place.depth = index_t(args.in[0]), place.height = index_t(args.in[1]), place.width = index_t(args.in[2]);
    place.plane = place.height * place.width;
    place.out_height = index_t(args.out[1]), place.out_width = index_t(args.out[2]);
    const index_t out_depth = index_t(args.out[0]);
    place.out_plane = out_depth * place.out_height * place.out_width;
    const index_t tiles_h = ceil_div(ceil_div(place.out_height, index_t(SH)), index_t(plan::POSITIONS_H));
    constexpr int BLOCKS = layer::GROUPS * CHANNEL_BLOCKS;
    const long long all_z = args.first_block[2] + blockIdx.z, z = all_z / plan::SPLIT;
    const int share = int(all_z % plan::SPLIT);
    const count_t y = count_t(args.first_block[1]) + blockIdx.y, x = count_t(args.first_block[0]) + blockIdx.x;

    // Row phases are neighbours, for their lines share what is fetched from and written to the L2.
    const int phase = SH == 1 ? 0 : int(y % SH);
    const count_t row = y / SH;
    const index_t d = out_depth == 1 ? 0 : index_t(row / count_t(tiles_h));
    const int channel_block = int(plan::ORDER == PLANES ? z % BLOCKS : x % BLOCKS);
    const long long n = plan::ORDER == PLANES ? z / BLOCKS : z;
    place.q_w = int(plan::ORDER == PLANES ? x : x / BLOCKS) * plan::POSITIONS_W;
    place.q_h = int(row - count_t(d) * count_t(tiles_h)) * plan::POSITIONS_H;
    const int group = channel_block / CHANNEL_BLOCKS, first = channel_block % CHANNEL_BLOCKS * plan::BLOCK_CHANNELS;
    place.channel = group * layer::OUT_PER_GROUP + first;
    place.channels = min(plan::BLOCK_CHANNELS, layer::OUT_PER_GROUP - first);
    place.x = static_cast<const Element*>(args.x) + n * ((long long)place.depth * place.plane * layer::IN_CHANNELS) +
              (long long)group * layer::IN_PER_GROUP * place.depth * place.plane;
    place.w = static_cast<const Element*>(args.w) +
              ((long long)group * layer::IN_PER_GROUP * layer::OUT_PER_GROUP + first) * (layer::KERNEL_D * KH * KW);
    place.y = n * ((long long)place.out_plane * layer::OUT_CHANNELS) + place.channel * (long long)place.out_plane +
              d * place.out_height * place.out_width;
    if constexpr (plan::SPLIT > 1)
        place.y += share * (args.batch * layer::OUT_CHANNELS * place.out_plane);  // in the workspace, then

    find_depth_taps(place, d);
    const unsigned* const packed = static_cast<const unsigned*>(args.packed) + channel_block * (USED_ROWS * PHASE_WORDS);
    compute_block<Element>(args, place, packed, phase, share, widest_access(place.width, args.x, args.x, args.x) == VECTOR);
}
