// implicit_gemm_sm90: transposed convolution as matrix products of warpgroups (wgmma, Hopper). NC* tensors.
//
// Outputs are written o = STRIDE*q + r per axis. A block owns POSITIONS_H x POSITIONS_W positions q of one output depth,
// one row phase, all column phases and BLOCK_CHANNELS output channels of one group. Rows of the product are output
// channels, columns are positions, and the sum runs over taps and input channels.
// Warpgroups that load turn the input tile into cells of 16 bytes, neighbouring
// channels of one pixel, so that a tap is nothing but another first cell; packed weights come by bulk copies. The other
// warpgroups multiply, 64 channels each. Depth taps of a plane only lengthen the loop over chunks. Sums go through slabs
// of shared memory, a warp its own, where column phases come to lie side by side, and leave as whole lines.

// ---------------------------------------------------------------- constants of the tile
enum Order { INPUTS, PLANES };                 // which blocks run side by side: that read, or write, the same
constexpr bool NARROW = sizeof(Element) == 2;
constexpr bool SPLIT = !NARROW && !layer::TF32;  // f32 factors are sums of two tf32 numbers
constexpr int PARTS = SPLIT ? 2 : 1;
constexpr int CELL = 16 / int(sizeof(Element));  // channels of a cell
constexpr int STEPS = plan::CHUNK / (2 * CELL);  // a product sums over two cells
constexpr int CONSUMERS = plan::GROUPS_M * plan::GROUPS_N, CONSUMER_THREADS = 128 * CONSUMERS;
constexpr int PRODUCER_THREADS = 128 * plan::LOADERS, THREADS = CONSUMER_THREADS + PRODUCER_THREADS;
constexpr int BLOCK_CHANNELS = 64 * plan::GROUPS_M;
constexpr int CHANNEL_BLOCKS = ceil_div(layer::OUT_PER_GROUP, BLOCK_CHANNELS);
static_assert(PARTS * STEPS * 2 * CELL == plan::CHUNK * PARTS, "a chunk is whole steps");

// The positions of a warpgroup, 8 at a time: a tile 8 wide is one run of columns, else each row is.
constexpr bool TALL = plan::POSITIONS_W == 8;
constexpr int ROW_TILES = plan::POSITIONS_W / 8, OWN_TILES = plan::POSITIONS_H * ROW_TILES / plan::GROUPS_N;
constexpr int RUN_TILES = TALL || OWN_TILES < ROW_TILES ? OWN_TILES : ROW_TILES;  // of one product
constexpr int RUNS = OWN_TILES / RUN_TILES, RUN_SUMS = 4 * RUN_TILES;
constexpr int LINE_TILES = TALL ? 1 : RUN_TILES, OWN_LINES = OWN_TILES / LINE_TILES;  // of rows
static_assert(plan::POSITIONS_H * ROW_TILES % plan::GROUPS_N == 0 && OWN_TILES % RUN_TILES == 0 &&
                  (TALL || ROW_TILES % RUN_TILES == 0),
              "a warpgroup has a part of one row, or whole rows");

constexpr int TAPS_H = ceil_div(KH, layer::TAP_STEP_H);  // of a row phase, at most
constexpr int TILE_H = plan::POSITIONS_H + (TAPS_H - 1) * layer::OFFSET_STEP_H;
constexpr int FIRST_COLUMN = Horizontal::low();
constexpr int TILE_W = plan::POSITIONS_W + Horizontal::high() - FIRST_COLUMN;
constexpr int PLANE = TILE_H * TILE_W;  // cells
constexpr int DEPTH_CHUNKS = ceil_div(layer::IN_PER_GROUP, plan::CHUNK);
constexpr int COLUMN_SETS = Horizontal::used();

// In cells. A stage of input is [step][part][half of the step][pixel], of weights [row tap][column tap][step][part][half]
// [channel].
constexpr int INPUT_STAGE = STEPS * PARTS * 2 * PLANE, TAP_CELLS = STEPS * PARTS * 2 * BLOCK_CHANNELS;
constexpr int WEIGHT_STAGE = TAPS_H * KW * TAP_CELLS, STAGE = INPUT_STAGE + WEIGHT_STAGE;

constexpr int LINE = 8 * LINE_TILES * SW;  // outputs of a warpgroup in one row
constexpr int SLAB_PITCH = OWN_LINES * LINE + (SW == 2 ? 48 - OWN_LINES * LINE % 32 : 40 - OWN_LINES * LINE % 32) % 32;
constexpr int SLAB = 8 * SLAB_PITCH;  // floats of one warp: 8 channels

constexpr int RING_BYTES = plan::STAGES * STAGE * 16, SLAB_BYTES = 4 * CONSUMERS * SLAB * 4;
constexpr int FINISH = RING_BYTES > SLAB_BYTES ? RING_BYTES : SLAB_BYTES;  // where the channels' epilogue parts are
constexpr int BARRIERS = FINISH + round_up(BLOCK_CHANNELS * int(sizeof(EpilogueChannel)), 8);

// A thread's registers, as launched, of consumers and of producers, which get what is left.
constexpr int EVEN_REGISTERS = 65536 / (THREADS * plan::MIN_BLOCKS) / 8 * 8;
constexpr int OWN_SUMS = 4 * OWN_TILES * (COLUMN_SETS + (SPLIT ? 1 : 0));
constexpr int CONSUMER_REGISTERS = round_up(OWN_SUMS + 56, 8) > EVEN_REGISTERS ? round_up(OWN_SUMS + 56, 8)
                                                                              : EVEN_REGISTERS;
constexpr int PRODUCER_REGISTERS =
    (EVEN_REGISTERS * (CONSUMERS + plan::LOADERS) - CONSUMER_REGISTERS * CONSUMERS) / plan::LOADERS / 8 * 8;
constexpr bool UNEVEN = CONSUMER_REGISTERS > EVEN_REGISTERS;

// What is multiplied in a value's place, and, where it is split, what that leaves.
template <class T>
__device__ __forceinline__ T factor(T value, T& low) {
    if constexpr (sizeof(T) == 4) {
        unsigned high, rest;
        if constexpr (SPLIT) {
            tf32_words(value, high, rest);
            low = __uint_as_float(rest);
        } else {
            high = tf32_word(value);
        }
        value = __uint_as_float(high);
    }
    return value;
}

// ---------------------------------------------------------------- weights
// One cell of the packed weights, which lie as [group][block of channels][row phase][depth tap][chunk][a stage].
__device__ __forceinline__ Vector<unsigned, 4> packed_unit(const Element* w, unsigned long long unit) {
    const auto next = [&](int n) {
        const int index = int(unit % n);
        unit /= n;
        return index;
    };
    const int channel = next(BLOCK_CHANNELS), half = next(2), part = next(PARTS), step = next(STEPS), kw = next(KW);
    const int row_tap = next(TAPS_H), chunk = next(DEPTH_CHUNKS), kd = next(layer::KERNEL_D), phase = next(SH);
    const int o = next(CHANNEL_BLOCKS) * BLOCK_CHANNELS + channel, group = int(unit);
    const int first = chunk * plan::CHUNK + (step * 2 + half) * CELL;
    const Phase rows = PHASES_H[phase];
    const bool exists = row_tap < rows.taps && o < layer::OUT_PER_GROUP;
    const int kh = rows.first_tap + row_tap * layer::TAP_STEP_H;
    Vector<Element, CELL> cell;
#pragma unroll
    for (int e = 0; e < CELL; ++e) {
        cell[e] = Element{};
        if (!exists || first + e >= layer::IN_PER_GROUP) continue;
        const long long at = ((((long long)(group * layer::IN_PER_GROUP + first + e) * layer::OUT_PER_GROUP + o) *
                                   layer::KERNEL_D + kd) * KH + kh) * KW + kw;
        Element low{};
        cell[e] = factor(load_global(w + at), low);
        if (part == 1) cell[e] = low;
    }
    Vector<unsigned, 4> words;
    __builtin_memcpy(&words, &cell, sizeof words);
    return words;
}

// ---------------------------------------------------------------- loads
// The rows of the block's row phase.
struct Rows {
    int taps, first_tap;
    int high, low;  // input offsets of the first tap and of the last one
};
__device__ __forceinline__ Rows rows_of(int phase) {
    if constexpr (SH == 1) {
        return {KH, 0, Vertical::high(), Vertical::low()};
    } else {
        const Phase rows = PHASES_H[phase];
        return {rows.taps, rows.first_tap, int(rows.first_offset),
                int(rows.first_offset) - (rows.taps - 1) * layer::OFFSET_STEP_H};
    }
}

// The barriers of a stage: producers arrive at one when it is full, consumers at the other when it is empty.
__device__ __forceinline__ unsigned full_barrier(unsigned shared, int slot) { return shared + BARRIERS + 16 * slot; }
__device__ __forceinline__ unsigned empty_barrier(unsigned shared, int slot) { return shared + BARRIERS + 16 * slot + 8; }

// Turns `channels` channels (or CHUNK) from `from` on into cells of the stage, by all that produce.
__device__ __forceinline__ void stage_input(const Place& place, const Rows& rows, char* stage, const Element* from,
                                            int channels, int thread) {
    constexpr int AT_ONCE = plan::CHUNK >= 32 ? 1 : 32 / plan::CHUNK;
    const index_t channel_pitch = place.depth * place.plane;
    const int first_h = place.q_h + rows.low, first_w = place.q_w + FIRST_COLUMN;
#pragma unroll 1
    for (int i = thread; i < PLANE; i += PRODUCER_THREADS * AT_ONCE) {
        Element values[AT_ONCE][plan::CHUNK];
        bool inside[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int p = i + PRODUCER_THREADS * k, h = first_h + p / TILE_W, w = first_w + p % TILE_W;
            inside[k] = p < PLANE && h >= 0 && h < place.height && w >= 0 && w < place.width;
            const Element* source = inside[k] ? from + (index_t(h) * place.width + w) : place.x;
            const index_t pitch = inside[k] ? channel_pitch : 0;
#pragma unroll
            for (int c = 0; c < plan::CHUNK; ++c) {
                const bool exists = layer::IN_PER_GROUP % plan::CHUNK == 0 || c < channels;
                values[k][c] = load_global(exists ? source : place.x);
                source += pitch;
            }
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; ++k) {
            const int p = i + PRODUCER_THREADS * k;
            if (PLANE % (PRODUCER_THREADS * AT_ONCE) != 0 && p >= PLANE) break;
            char* target = stage + p * 16;
#pragma unroll
            for (int q = 0; q < 2 * STEPS; ++q) {
                Vector<Element, CELL> cell, low;
#pragma unroll
                for (int e = 0; e < CELL; ++e) {
                    const int c = q * CELL + e;
                    const bool exists = inside[k] && (layer::IN_PER_GROUP % plan::CHUNK == 0 || c < channels);
                    cell[e] = values[k][c];
                    if (!exists) cell[e] = Element{};
                    cell[e] = factor(cell[e], low[e]);
                }
                const int at = (q / 2 * PARTS * 2 + q % 2) * PLANE * 16;
                *reinterpret_cast<Vector<Element, CELL>*>(target + at) = cell;
                if constexpr (SPLIT) *reinterpret_cast<Vector<Element, CELL>*>(target + at + 2 * PLANE * 16) = low;
            }
        }
    }
}

__device__ __forceinline__ void produce(const Place& place, const Rows& rows, const char* packed, int chunks) {
    const int thread = threadIdx.x - CONSUMER_THREADS;
    const unsigned shared = shared_address(shared_memory());
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const int slot = chunk % plan::STAGES, tap = chunk / DEPTH_CHUNKS, part = chunk % DEPTH_CHUNKS;
        const unsigned full = full_barrier(shared, slot);
        barrier_wait(empty_barrier(shared, slot), chunk / plan::STAGES % 2 ^ 1);
        if (thread == 0) {
            const unsigned bytes = rows.taps * (KW * TAP_CELLS * 16);
            const int kd = place.first_tap_d + tap * layer::TAP_STEP_D;
            barrier_arrive_expecting(full, bytes);
            copy_bulk(shared + (slot * STAGE + INPUT_STAGE) * 16,
                      packed + (long long)(kd * DEPTH_CHUNKS + part) * (WEIGHT_STAGE * 16), bytes, full);
        }
        const index_t d = place.first_d - tap * layer::OFFSET_STEP_D;
        stage_input(place, rows, shared_memory() + slot * STAGE * 16,
                    place.x + (index_t(part * plan::CHUNK) * place.depth + d) * place.plane,
                    layer::IN_PER_GROUP - part * plan::CHUNK, thread);
        publish_to_tensor_cores();
        __syncwarp();
        if (thread % 32 == 0) barrier_arrive(full);
    }
}

// ---------------------------------------------------------------- products
using Sums = float[COLUMN_SETS][RUNS][RUN_SUMS];

// Products of a stage. a, b: operands of its first tap and of the warpgroup's first position.
__device__ __forceinline__ void multiply_stage(unsigned long long a, unsigned long long b, int taps, Sums& sums) {
    [[maybe_unused]] float partial[RUNS][RUN_SUMS];
    if constexpr (!SPLIT) products_begin();
#pragma unroll 1
    for (int j = 0; j < taps; ++j) {
#pragma unroll(SPLIT ? 1 : STEPS)
        for (int step = 0; step < STEPS; ++step) {
            const unsigned long long left = a + (j * KW * TAP_CELLS + step * (PARTS * 2 * BLOCK_CHANNELS));
            const unsigned long long right =
                b + ((taps - 1 - j) * (layer::OFFSET_STEP_H * TILE_W) + step * (PARTS * 2 * PLANE));
            static_for<0, SW>([&](auto rw) {
                if constexpr (Horizontal::used(rw)) {
                    constexpr int PHASE = decltype(rw)::value, SET = Horizontal::rank(PHASE);
                    constexpr int TAPS = Horizontal::taps(PHASE);
                    static_for<0, TAPS>([&](auto item) {
                        constexpr int I = decltype(item)::value, TAP = Horizontal::sorted(Horizontal::first(PHASE) + I);
                        constexpr int AT = Horizontal::offset(TAP) - FIRST_COLUMN;
                        static_for<0, RUNS>([&](auto run) {
                            const unsigned long long x = left + TAP * TAP_CELLS, y = right + AT + int(run) * TILE_W;
                            if constexpr (SPLIT) {
                                // Tensor cores cut their sums off, and long ones drift: few products join the total at a
                                // time. The small ones first.
                                constexpr bool FIRST = I % plan::JOIN == 0;
                                if constexpr (FIRST && decltype(run)::value == 0) products_begin();
                                wgmma<Element>(partial[run], x + 2 * BLOCK_CHANNELS, y, FIRST ? 0 : 1);
                                wgmma<Element>(partial[run], x, y + 2 * PLANE, 1);
                                wgmma<Element>(partial[run], x, y, 1);
                            } else {
                                wgmma<Element>(sums[SET][run], x, y, 1);
                            }
                        });
                        if constexpr (SPLIT && ((I + 1) % plan::JOIN == 0 || I + 1 == TAPS)) {
                            products_commit();
                            products_wait<0>();
#pragma unroll
                            for (int r = 0; r < RUNS; ++r)
#pragma unroll
                                for (int i = 0; i < RUN_SUMS; ++i) sums[SET][r][i] += partial[r][i];
                        }
                    });
                }
            });
        }
    }
    if constexpr (!SPLIT) products_commit();
}

// ---------------------------------------------------------------- stores
// What no tap inside the image reaches is exactly zero, whatever weights the zeros beyond it met. q_h, q_w: of the lane's
// first sum.
__device__ __forceinline__ void forget_unreached(const Place& place, const Rows& rows, int q_h, int q_w, Sums& sums) {
    static_for<0, OWN_TILES>([&](auto tile) {
        constexpr int N = decltype(tile)::value;
        const int h = q_h + N / LINE_TILES, w = q_w + N % LINE_TILES * 8;
        bool row = false;
#pragma unroll 1
        for (int j = 0; j < rows.taps; ++j)
            row = row | (count_t(index_t(h + rows.high - j * layer::OFFSET_STEP_H)) < count_t(place.height));
        static_for<0, SW>([&](auto rw) {
            if constexpr (Horizontal::used(rw)) {
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const bool keep = row && reached<Horizontal, int(rw)>(w + e, place.width);
                    float* const four = &sums[Horizontal::rank(rw)][N / RUN_TILES][N % RUN_TILES * 4];
                    if (!keep) four[e] = EXACT_ZERO;
                    if (!keep) four[2 + e] = EXACT_ZERO;
                }
            }
        });
    });
}

// One sum by the definition, for those that came out as NaN because a factor could not be split.
__device__ __forceinline__ float plain_sum(const Place& place, const Rows& rows, int channel, index_t q_h, index_t w) {
    float sum = 0;
#pragma unroll 1
    for (int d = 0; d < place.taps_d; ++d)
#pragma unroll 1
        for (int j = 0; j < rows.taps; ++j)
#pragma unroll 1
            for (int kw = 0; kw < KW; ++kw) {
                const index_t h = q_h + rows.high - j * layer::OFFSET_STEP_H;
                const index_t at = w + layer::PAD_W - kw * layer::DILATION_W;
                if (h < 0 || h >= place.height || at < 0 || at % SW != 0 || at / SW >= place.width) continue;
                const Element* x = place.x + (place.first_d - d * layer::OFFSET_STEP_D) * place.plane +
                                   h * place.width + at / SW;
                const int kd = place.first_tap_d + d * layer::TAP_STEP_D, kh = rows.first_tap + j * layer::TAP_STEP_H;
                const Element* factor =
                    place.w + ((plan::weight_index_t(channel) * layer::KERNEL_D + kd) * KH + kh) * KW + kw;
#pragma unroll 1
                for (int c = 0; c < layer::IN_PER_GROUP; ++c) {
                    sum = fmaf(to_float(load_global(x)), to_float(load_global(factor)), sum);
                    if (sum != sum) return sum;  // and stays so
                    x += place.depth * place.plane;
                    factor += plan::weight_index_t(layer::OUT_PER_GROUP) * layer::KERNEL_D * KH * KW;
                }
            }
    return sum;
}

// Writes lines, `lines` of them, by the threads of a warp. line(i, write) calls write(channel, row, first column, values).
template <class Line>
__device__ __forceinline__ void store_lines(const ConvtArgs& args, const Place& place, int phase, int lines,
                                            const EpilogueChannel* finish, const Line& line) {
    constexpr int LANES = LINE / VECTOR < 32 ? floor_power_of_two(LINE / VECTOR > 0 ? LINE / VECTOR : 1) : 32;
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int i = lane / LANES; i < lines; i += 32 / LANES) {
        line(i, [&](int channel, int row, int column, const auto& values) {
            const index_t h = index_t(place.q_h + row) * SH + phase, first = index_t(place.q_w + column) * SW;
            if (h >= place.out_height || channel >= place.channels || first >= place.out_width) return;
            EpilogueChannel parts;
            if constexpr (layer::HAS_BIAS || layer::AFFINE) parts = finish[channel];
            const int count = int(min(index_t(LINE), place.out_width - first));
            const long long at = place.y + channel * (long long)place.out_plane + h * place.out_width + first;
            store_line<ceil_div(LINE, LANES * VECTOR)>(args, at, count, lane % LANES, LANES, parts, values);
        });
    }
}

// Half of a warp's sums, 8 channels, as runs of outputs, column phases side by side. Where one is not finite, `probe`
// becomes NaN.
template <int HALF>
__device__ __forceinline__ void write_slab(float* target, const Sums& sums, float& probe) {
    constexpr int RUN = 2 * SW, V = widest(RUN, 4);
    static_for<0, OWN_TILES>([&](auto tile) {
        constexpr int N = decltype(tile)::value;
        float run[RUN];
        static_for<0, RUN>([&](auto at) {
            constexpr int E = decltype(at)::value / SW, R = decltype(at)::value % SW;
            if constexpr (Horizontal::used(R)) {
                run[at] = sums[Horizontal::rank(R)][N / RUN_TILES][N % RUN_TILES * 4 + 2 * HALF + E];
                if constexpr (SPLIT) probe = fmaf(run[at], 0.0f, probe);
            } else {
                run[at] = EXACT_ZERO;
            }
        });
#pragma unroll
        for (int i = 0; i < RUN; i += V) {
            Vector<float, V> v;
#pragma unroll
            for (int e = 0; e < V; ++e) v[e] = run[i + e];
            *reinterpret_cast<Vector<float, V>*>(target + N * (8 * SW) + i) = v;
        }
    });
}

// channel, row, column: where the warp's sums begin in the block.
__device__ __forceinline__ void store_sums(const ConvtArgs& args, const Place& place, const Rows& rows, int phase,
                                           const EpilogueChannel* finish, int channel, int row, int column, Sums& sums) {
    const int lane = threadIdx.x % 32;
    float* const slab = reinterpret_cast<float*>(shared_memory()) + threadIdx.x / 32 * SLAB;
    float* const target = slab + lane / 4 * SLAB_PITCH + lane % 4 * (2 * SW);
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
        [[maybe_unused]] float probe = 0;
        if (half == 0)
            write_slab<0>(target, sums, probe);
        else
            write_slab<1>(target, sums, probe);
        __syncwarp();
        if constexpr (SPLIT) {
            if (__any_sync(0xffffffff, probe != 0.0f)) {  // NaN, and so are all that are not finite
#pragma unroll 1
                for (int i = lane; i < 8 * OWN_LINES * LINE; i += 32) {
                    const int line = i / LINE % OWN_LINES, o = i / (OWN_LINES * LINE), own = channel + half * 8 + o;
                    const index_t w = index_t(place.q_w + column) * SW + i % LINE;
                    float& sum = slab[o * SLAB_PITCH + line * LINE + i % LINE];
                    if (sum != sum && own < place.channels && w < place.out_width)
                        sum = plain_sum(place, rows, own, place.q_h + row + line, w);
                }
                __syncwarp();
            }
        }
        store_lines(args, place, phase, 8 * OWN_LINES, finish, [&](int i, const auto& write) {
            const int line = i % OWN_LINES, o = i / OWN_LINES;
            write(channel + half * 8 + o, row + line, column, SlabRow{slab + o * SLAB_PITCH + line * LINE});
        });
        __syncwarp();
    }
}

// ---------------------------------------------------------------- one block
__device__ __forceinline__ void consume(const ConvtArgs& args, const Place& place, const Rows& rows, int phase,
                                        const EpilogueChannel* finish, int chunks) {
    // All lanes of a warp agree, and the compiler is to know it.
    const int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0), warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int group_m = group % plan::GROUPS_M, group_n = group / plan::GROUPS_M;
    const int row = TALL ? group_n * OWN_TILES : group_n * OWN_TILES / ROW_TILES;
    const int column = TALL ? 0 : group_n * OWN_TILES % ROW_TILES * 8;
    const unsigned shared = shared_address(shared_memory());
    const unsigned first_a = shared + INPUT_STAGE * 16 + group_m * (64 * 16);
    const unsigned first_b = shared + (row * TILE_W + column) * 16;

    Sums sums = {};
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; ++chunk) {
        const int slot = chunk % plan::STAGES;
        barrier_wait(full_barrier(shared, slot), chunk / plan::STAGES % 2);
        multiply_stage(operand(first_a + slot * (STAGE * 16), BLOCK_CHANNELS * 16, 128),
                       operand(first_b + slot * (STAGE * 16), PLANE * 16, TALL ? TILE_W * 16 : 128), rows.taps, sums);
        if constexpr (SPLIT) {
            if (lane == 0) barrier_arrive(empty_barrier(shared, slot));
        } else {  // the products of the chunk before are done
            products_wait<1>();
            if (chunk > 0 && lane == 0) barrier_arrive(empty_barrier(shared, (chunk - 1) % plan::STAGES));
        }
    }
    products_wait<0>();
    barrier_of<1, CONSUMER_THREADS>();  // the ring is free

    if constexpr (!(layer::ALL_REACHED_H && layer::ALL_REACHED_W))
        if (!(all_reached<Vertical, layer::OFFSET_STEP_H>(place.q_h, plan::POSITIONS_H, place.height, place.out_height) &&
              all_reached<Horizontal, layer::OFFSET_STEP_W>(place.q_w, plan::POSITIONS_W, place.width, place.out_width)))
            forget_unreached(place, rows, place.q_h + row, place.q_w + column + lane % 4 * 2, sums);
    store_sums(args, place, rows, phase, finish, group_m * 64 + warp * 16, row, column, sums);
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
    const long long z = args.first_block[2] + blockIdx.z;
    const count_t y = count_t(args.first_block[1]) + blockIdx.y, x = count_t(args.first_block[0]) + blockIdx.x;

    // Row phases are neighbours, for their lines share what is fetched from and written to the L2.
    const int phase = SH == 1 ? 0 : int(y % SH);
    const count_t row = y / SH;
    const index_t d = out_depth == 1 ? 0 : index_t(row / count_t(tiles_h));
    const int channel_block = int(plan::ORDER == PLANES ? z % BLOCKS : x % BLOCKS);
    const long long n = plan::ORDER == PLANES ? z / BLOCKS : z;
    place.q_w = int(plan::ORDER == PLANES ? x : x / BLOCKS) * plan::POSITIONS_W;
    place.q_h = int(row - count_t(d) * count_t(tiles_h)) * plan::POSITIONS_H;
    const int group = channel_block / CHANNEL_BLOCKS, first = channel_block % CHANNEL_BLOCKS * BLOCK_CHANNELS;
    place.channel = group * layer::OUT_PER_GROUP + first;
    place.channels = min(BLOCK_CHANNELS, layer::OUT_PER_GROUP - first);
    place.x = static_cast<const Element*>(args.x) + n * ((long long)place.depth * place.plane * layer::IN_CHANNELS) +
              (long long)group * layer::IN_PER_GROUP * place.depth * place.plane;
    place.w = static_cast<const Element*>(args.w) +
              ((long long)group * layer::IN_PER_GROUP * layer::OUT_PER_GROUP + first) * (layer::KERNEL_D * KH * KW);
    place.y = n * ((long long)place.out_plane * layer::OUT_CHANNELS) + place.channel * (long long)place.out_plane +
              d * place.out_height * place.out_width;
    find_depth_taps(place, d);

    const Rows rows = rows_of(phase);
    const int chunks = rows.taps > 0 ? place.taps_d * DEPTH_CHUNKS : 0;
    const char* const packed = static_cast<const char*>(args.packed) +
                               (long long)(channel_block * SH + phase) * layer::KERNEL_D * DEPTH_CHUNKS *
                                   (WEIGHT_STAGE * 16);
    EpilogueChannel* const finish = reinterpret_cast<EpilogueChannel*>(shared_memory() + FINISH);
    if constexpr (layer::HAS_BIAS || layer::AFFINE)
        for (int o = threadIdx.x; o < place.channels; o += THREADS) finish[o] = epilogue_channel(args, place.channel + o);
    if (threadIdx.x == 0) {
        const unsigned shared = shared_address(shared_memory());
        for (int slot = 0; slot < plan::STAGES; ++slot) {
            barrier_init(full_barrier(shared, slot), 1 + 4 * plan::LOADERS);  // the weights' bytes, and each warp that stages input
            barrier_init(empty_barrier(shared, slot), 4 * CONSUMERS);
        }
        publish_to_tensor_cores();
    }
    __syncthreads();
    if (threadIdx.x >= CONSUMER_THREADS) {
        if constexpr (UNEVEN) give_registers<PRODUCER_REGISTERS>();
        if (chunks > 0) produce(place, rows, packed, chunks);
    } else {
        if constexpr (UNEVEN) take_registers<CONSUMER_REGISTERS>();
        if (chunks > 0)
            consume(args, place, rows, phase, finish, chunks);
        else {
            const int warp = threadIdx.x / 32;
            constexpr int PIECES = plan::POSITIONS_W * SW / LINE, LINES = BLOCK_CHANNELS * plan::POSITIONS_H * PIECES;
            store_lines(args, place, phase, ceil_div(LINES, 4 * CONSUMERS), finish, [&](int i, const auto& write) {
                const int line = i * 4 * CONSUMERS + warp;
                if (line < LINES)
                    write(line / (plan::POSITIONS_H * PIECES), line / PIECES % plan::POSITIONS_H,
                          line % PIECES * 8 * LINE_TILES, Nothing{});
            });
        }
    }
}
