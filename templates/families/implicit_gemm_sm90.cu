// implicit_gemm_sm90: transposed convolution as matrix products of warpgroups (wgmma, Hopper). NC* tensors.
//
// Outputs are written o = STRIDE*q + r per axis. A tile is POSITIONS_H x POSITIONS_W positions q of one output depth, one
// row phase, all column phases and BLOCK_CHANNELS output channels of one group. Rows of the product are output channels,
// columns are positions, and the sum runs over taps and input channels.
// Folded, a position is FOLD output rows instead of one row phase, and rows of the product are those times output
// channels: all meet the same input rows, with weights of zero where an output row has no tap there.
// A block takes one tile after the other. Warpgroups that load turn its input, a chunk of channels at a time, into cells
// of 16 bytes: neighbouring channels of one pixel, so that a tap is nothing but another first cell. Packed weights come by
// bulk copies, with each chunk, or once where there is room for all. Teams of the other warpgroups take tiles in turn, 64
// channels a warpgroup, so that one team stores while another multiplies. Depth taps only lengthen the loop over chunks.
// Sums go through slabs of shared memory, a warp its own, where column phases come to lie side by side, and leave as lines.

// ---------------------------------------------------------------- constants of the tile
constexpr bool NARROW = sizeof(Element) == 2;
constexpr bool SPLIT = !NARROW && !layer::TF32;  // f32 factors are sums of two tf32 numbers
constexpr int PARTS = SPLIT ? 2 : 1;
constexpr int CELL = 16 / int(sizeof(Element));  // channels of a cell
constexpr int STEPS = plan::CHUNK / (2 * CELL);  // a product sums over two cells
constexpr int TEAM = plan::GROUPS_M * plan::GROUPS_N, CONSUMERS = plan::TEAMS * TEAM;
constexpr int CONSUMER_THREADS = 128 * CONSUMERS;
constexpr int PRODUCER_THREADS = 128 * plan::LOADERS, THREADS = CONSUMER_THREADS + PRODUCER_THREADS;
constexpr int BLOCK_ROWS = 64 * plan::GROUPS_M;  // of products
constexpr bool FOLDED = plan::FOLD > 1;
constexpr int FOLDED_ROWS = BLOCK_ROWS / plan::FOLD / 8 * 8;
constexpr int BLOCK_CHANNELS = !FOLDED                                                ? BLOCK_ROWS
                               : FOLDED_ROWS < round_up(layer::OUT_PER_GROUP, 8) ? FOLDED_ROWS
                                                                                 : round_up(layer::OUT_PER_GROUP, 8);
constexpr int LINES = FOLDED ? plan::FOLD : SH;      // output rows from one position to the next
constexpr int ROW_PHASES = FOLDED ? 1 : SH;          // that are tiles of their own
constexpr int ROW_STEP = FOLDED ? plan::FOLD / SH : 1;  // input rows from one position to the next
static_assert(!FOLDED || (plan::FOLD % SH == 0 && BLOCK_CHANNELS > 0), "a position is whole steps of the stride");
constexpr int CHANNEL_BLOCKS = ceil_div(layer::OUT_PER_GROUP, BLOCK_CHANNELS);
static_assert(PARTS * STEPS * 2 * CELL == plan::CHUNK * PARTS, "a chunk is whole steps");

// The positions of a warpgroup, 8 at a time: a tile 8 wide is one run of columns, else each row is.
constexpr bool TALL = plan::POSITIONS_W == 8;
constexpr int ROW_TILES = plan::POSITIONS_W / 8, OWN_TILES = plan::POSITIONS_H * ROW_TILES / plan::GROUPS_N;
constexpr int RUN_TILES = TALL || OWN_TILES < ROW_TILES ? OWN_TILES : ROW_TILES;  // of one product
constexpr int RUNS = OWN_TILES / RUN_TILES, RUN_SUMS = 4 * RUN_TILES;
constexpr int LINE_TILES = TALL ? 1 : RUN_TILES;  // of a row
static_assert(plan::POSITIONS_H * ROW_TILES % plan::GROUPS_N == 0 && OWN_TILES % RUN_TILES == 0 &&
                  (TALL || ROW_TILES % RUN_TILES == 0),
              "a warpgroup has a part of one row, or whole rows");

// The input row of a position's first output row, `line` rows on, from its own first input row on; only where exact.
__host__ __device__ constexpr bool meets(int line, int kh) { return modulo(line - kh * layer::DILATION_H + layer::PAD_H, SH) == 0; }
__host__ __device__ constexpr int meets_at(int line, int kh) { return (line - kh * layer::DILATION_H + layer::PAD_H) / SH; }
__host__ __device__ constexpr int folded_high() {
    int high = -(1 << 20);
    for (int line = 0; line < LINES; ++line)
        for (int kh = 0; kh < KH; ++kh)
            if (meets(line, kh) && meets_at(line, kh) > high) high = meets_at(line, kh);
    return high;
}
__host__ __device__ constexpr int folded_low() {
    int low = 1 << 20;
    for (int line = 0; line < LINES; ++line)
        for (int kh = 0; kh < KH; ++kh)
            if (meets(line, kh) && meets_at(line, kh) < low) low = meets_at(line, kh);
    return low;
}

// Input rows that a position meets, one "row tap" each; not folded, the taps of a row phase, at most.
constexpr int TAPS_H = FOLDED ? folded_high() - folded_low() + 1 : ceil_div(KH, layer::TAP_STEP_H);
constexpr int TAP_ROWS = FOLDED ? 1 : layer::OFFSET_STEP_H;  // input rows from one to the next
constexpr int TILE_H = (plan::POSITIONS_H - 1) * ROW_STEP + (TAPS_H - 1) * TAP_ROWS + 1;
// 16-bit pixels are loaded two at a time, from an even column on.
constexpr int PAIR = NARROW ? 2 : 1;
constexpr int FIRST_COLUMN = floor_to(Horizontal::low(), PAIR);
constexpr int TILE_W = round_up(plan::POSITIONS_W + Horizontal::high() - FIRST_COLUMN, PAIR);
constexpr int PLANE = TILE_H * TILE_W;  // cells
constexpr int DEPTH_CHUNKS = ceil_div(layer::IN_PER_GROUP, plan::CHUNK);
constexpr int COLUMN_SETS = Horizontal::used();

// In cells. A stage of input is [part][step][half of the step][pixel], of weights [row tap][column tap][step][part][half]
// [row of the product].
constexpr int INPUT_STAGE = STEPS * PARTS * 2 * PLANE, TAP_CELLS = STEPS * PARTS * 2 * BLOCK_ROWS;
constexpr int WEIGHT_STAGE = TAPS_H * KW * TAP_CELLS;
constexpr int WEIGHT_SETS = layer::GROUPS * CHANNEL_BLOCKS * ROW_PHASES;       // a tile needs one
constexpr int WEIGHT_SET = layer::KERNEL_D * DEPTH_CHUNKS * WEIGHT_STAGE;
constexpr int STAGE = INPUT_STAGE + (plan::RESIDENT ? 0 : WEIGHT_STAGE);
static_assert((long long)WEIGHT_SETS * WEIGHT_SET * 16 == plan::PACKED_BYTES, "the plan counts the same bytes");

// Pieces of lines pass through a warp's slab, of 8 channels at a time.
constexpr int MOST_PASS_TILES = SW < 16 ? 16 / SW : 1;
constexpr int PIECE_TILES = largest_divisor(LINE_TILES, MOST_PASS_TILES), PIECE = 8 * PIECE_TILES * SW;  // outputs
constexpr int PASS_PIECES = largest_divisor(OWN_TILES / PIECE_TILES, MOST_PASS_TILES / PIECE_TILES);
constexpr int PASS_TILES = PASS_PIECES * PIECE_TILES, PASSES = OWN_TILES / PASS_TILES;
constexpr int SLAB_PITCH = PASS_PIECES * PIECE + (SW == 2 ? 48 - PASS_PIECES * PIECE % 32
                                                          : 40 - PASS_PIECES * PIECE % 32) % 32;
constexpr int SLAB = 8 * SLAB_PITCH;  // floats

// In bytes.
constexpr int WEIGHTS_AT = plan::STAGES * STAGE * 16, SLABS_AT = WEIGHTS_AT + (plan::RESIDENT ? WEIGHT_SET * 16 : 0);
constexpr int BARRIERS_AT = SLABS_AT + 4 * CONSUMERS * SLAB * 4;

// A thread's registers, as launched, of consumers and of producers, which get what is left.
constexpr int EVEN_REGISTERS = 65536 / (THREADS * plan::MIN_BLOCKS) / 8 * 8;
constexpr int OWN_SUMS = 4 * OWN_TILES * (COLUMN_SETS + (SPLIT ? 1 : 0));
constexpr int CONSUMER_REGISTERS = OWN_SUMS + 40 > EVEN_REGISTERS ? round_up(OWN_SUMS + 40, 8)
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
    const int row = next(BLOCK_ROWS), half = next(2), part = next(PARTS), step = next(STEPS), kw = next(KW);
    const int row_tap = next(TAPS_H), chunk = next(DEPTH_CHUNKS), kd = next(layer::KERNEL_D), phase = next(ROW_PHASES);
    const int o = next(CHANNEL_BLOCKS) * BLOCK_CHANNELS + row % BLOCK_CHANNELS, group = int(unit);
    const int first = chunk * plan::CHUNK + (step * 2 + half) * CELL;
    int kh;
    bool exists = o < layer::OUT_PER_GROUP;
    if constexpr (FOLDED) {
        const int line = row / BLOCK_CHANNELS;
        const int distance = line + layer::PAD_H - (folded_high() - row_tap) * SH;
        kh = distance / layer::DILATION_H;
        exists = exists && line < plan::FOLD && distance >= 0 && distance % layer::DILATION_H == 0 && kh < KH;
    } else {
        const Phase rows = PHASES_H[phase];
        kh = rows.first_tap + row_tap * layer::TAP_STEP_H;
        exists = exists && row_tap < rows.taps;
    }
    alignas(16) Vector<Element, CELL> cell;
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
    return *reinterpret_cast<const Vector<unsigned, 4>*>(&cell);
}

// ---------------------------------------------------------------- loads
// A tile: what is loaded, multiplied and stored. Tiles that differ in weights only are neighbours.
struct Work : Place {
    Rows rows;
    int phase, weights, chunks;  // row phase, set of weights
};
struct Tiles {
    index_t width, height, depth;
    long long count;
    __device__ __forceinline__ explicit Tiles(const ConvtArgs& args)
        : width(ceil_div(ceil_div(index_t(args.out[2]), index_t(SW)), index_t(plan::POSITIONS_W))),
          height(ceil_div(ceil_div(index_t(args.out[1]), index_t(LINES)), index_t(plan::POSITIONS_H))),
          depth(index_t(args.out[0])),
          count((long long)width * height * depth * args.batch * WEIGHT_SETS) {}
};
__device__ __forceinline__ Work work_of(const ConvtArgs& args, const Tiles& tiles, long long tile) {
    Work work;
    work.depth = index_t(args.in[0]), work.height = index_t(args.in[1]), work.width = index_t(args.in[2]);
    work.plane = work.height * work.width;
    work.out_height = index_t(args.out[1]), work.out_width = index_t(args.out[2]);
    work.out_plane = tiles.depth * work.out_height * work.out_width;
    const auto next = [&](auto n) {
        const auto index = decltype(n)(tile % n);
        tile /= n;
        return index;
    };
    work.weights = next(WEIGHT_SETS);
    work.phase = work.weights % ROW_PHASES;
    work.q_w = int(next(tiles.width)) * plan::POSITIONS_W;
    work.q_h = int(next(tiles.height)) * plan::POSITIONS_H;
    const index_t d = tiles.depth == 1 ? 0 : next(tiles.depth);
    const int group = work.weights / (ROW_PHASES * CHANNEL_BLOCKS);
    const int first = work.weights / ROW_PHASES % CHANNEL_BLOCKS * BLOCK_CHANNELS;
    work.channel = group * layer::OUT_PER_GROUP + first;
    work.channels = min(BLOCK_CHANNELS, layer::OUT_PER_GROUP - first);
    work.x = static_cast<const Element*>(args.x) +
             (tile * layer::IN_CHANNELS + group * layer::IN_PER_GROUP) * ((long long)work.depth * work.plane);
    work.w = static_cast<const Element*>(args.w) +
             ((long long)group * layer::IN_PER_GROUP * layer::OUT_PER_GROUP + first) * (layer::KERNEL_D * KH * KW);
    work.y = (tile * layer::OUT_CHANNELS + work.channel) * (long long)work.out_plane +
             (long long)d * work.out_height * work.out_width;
    find_depth_taps(work, d);
    if constexpr (FOLDED)
        work.rows = {TAPS_H, 0, folded_high(), folded_low()};
    else
        work.rows = rows_of(work.phase);
    work.chunks = work.rows.taps > 0 ? work.taps_d * DEPTH_CHUNKS : 0;
    return work;
}

// A place in the ring of stages, counted from the first chunk of the block on, and its barriers: those who load arrive at
// one when it is full, those who multiply at the other when it is empty.
struct Position {
    unsigned count = 0;
    __device__ __forceinline__ int slot() const { return int(count % plan::STAGES); }
    __device__ __forceinline__ unsigned turn() const { return count / plan::STAGES % 2; }
    __device__ __forceinline__ unsigned full(unsigned shared) const { return shared + BARRIERS_AT + 16 * slot(); }
    __device__ __forceinline__ unsigned empty(unsigned shared) const { return full(shared) + 8; }
};
constexpr int WEIGHTS_BARRIER_AT = BARRIERS_AT + 16 * plan::STAGES;
// Who waits for a stage must know that it is not a use of it two turns ago whose end it sees: a team waits for stages only
// when the team before has all of its own. Each team has a barrier where that one tells it.
constexpr int TEAM_BARRIERS_AT = WEIGHTS_BARRIER_AT + 8;

// Warps that load form squads, each of which has every SQUADS-th chunk: a thread that waits for one load waits for all
// that it has under way, so what is to be under way at a time is spread over threads. A squad takes a chunk in batches,
// the same number of pairs of cells for each thread.
constexpr int CELLS = 2 * STEPS * PLANE, PAIRS = CELLS / PAIR;
constexpr int HELD_REGISTERS = PRODUCER_REGISTERS - (NARROW ? 56 : 44);  // what a thread does not need for others
constexpr int MOST_HELD = HELD_REGISTERS < CELL + 1 ? 1 : HELD_REGISTERS / (CELL + 1);
constexpr int squads() {
    int n = 1;
    while (2 * n <= plan::STAGES && 2 * n <= 4 * plan::LOADERS &&
           ceil_div(PAIRS, PRODUCER_THREADS / (2 * n)) <= MOST_HELD)
        n *= 2;
    return n;
}
constexpr int SQUADS = squads(), SQUAD_THREADS = PRODUCER_THREADS / SQUADS;
constexpr int BATCHES = ceil_div(PAIRS, SQUAD_THREADS * MOST_HELD), HELD = ceil_div(PAIRS, SQUAD_THREADS * BATCHES);
using Pixels = Vector<Element, PAIR>;

// The first cell of the `k`-th pair of a thread and batch: its place among the chunk's.
__device__ __forceinline__ int cell_of(int batch, int k, int thread) {
    return ((batch * HELD + k) * SQUAD_THREADS + thread) * PAIR;
}
__device__ __forceinline__ bool is_cell(int cell) { return PAIRS % (SQUAD_THREADS * HELD) == 0 || cell < CELLS; }

// Where a batch's pairs begin in the image, from the first channel of a chunk at its depth on; negative outside. The same
// for all chunks of a tile.
struct Sources {
    index_t offset[HELD];
    unsigned whole;  // a bit each: both pixels are inside
};
__device__ __forceinline__ Sources sources_of(const Work& work, int batch, int thread) {
    static_assert(HELD <= 32, "a bit each");
    Sources sources;
    sources.whole = 0;
    const index_t channel_pitch = work.depth * work.plane;
    const int first_h = work.q_h * ROW_STEP + work.rows.low, first_w = work.q_w + FIRST_COLUMN;
#pragma unroll
    for (int k = 0; k < HELD; ++k) {
        const int cell = cell_of(batch, k, thread), pixel = cell % PLANE, first = cell / PLANE * CELL;
        const int h = first_h + pixel / TILE_W, w = first_w + pixel % TILE_W;
        const bool inside = is_cell(cell) && h >= 0 && h < work.height && w >= 0 && w < work.width;
        sources.offset[k] = inside ? first * channel_pitch + index_t(h) * work.width + w : -1;
        sources.whole |= unsigned(inside && w + 1 < work.width) << k;
    }
    return sources;
}

// Whether every row of the input begins where two pixels may be loaded at once.
__device__ __forceinline__ bool is_even(const ConvtArgs& args) {
    return (args.in[2] * sizeof(Element) | (unsigned long long)args.x) % sizeof(Pixels) == 0;
}

// Pairs of a thread and batch.
template <int COUNT>
using Held = Pixels[COUNT][CELL];

// Starts the loads of the pairs from FIRST on, of `from`, the first of `channels` channels.
template <bool EVEN, int FIRST, int COUNT>
__device__ __forceinline__ void load_pairs(const Work& work, const Sources& sources, const Element* from, int channels,
                                           int number, int thread, Held<COUNT>& held) {
    const index_t channel_pitch = work.depth * work.plane;
#pragma unroll
    for (int k = FIRST; k < FIRST + COUNT; ++k) {
        const bool inside = sources.offset[k] >= 0;
        const Element* source = from + sources.offset[k];
#pragma unroll
        for (int e = 0; e < CELL; ++e) {
            const bool exists = layer::IN_PER_GROUP % plan::CHUNK == 0 ||
                                cell_of(number, k, thread) / PLANE * CELL + e < channels;
            Pixels& pixels = held[k - FIRST][e];
            if constexpr (EVEN) {
                pixels = load_global_if(reinterpret_cast<const Pixels*>(source), inside && exists);
            } else {
                pixels[0] = load_global_if(source, inside && exists);
                pixels[PAIR - 1] = load_global_if(source + PAIR - 1, exists && (sources.whole >> k & 1) != 0);
            }
            source += channel_pitch;
        }
    }
}

template <int FIRST, int COUNT>
__device__ __forceinline__ void store_pairs(char* stage, int number, int thread, const Held<COUNT>& held) {
    // Of the first pixels of two words, and of the second ones. Half of the threads begin with the second, so that
    // together they meet all banks.
    const unsigned second = thread & 4 ? 1 : 0, first_bytes = second ? 0x7632 : 0x5410, rest_bytes = first_bytes ^ 0x2222;
#pragma unroll
    for (int k = FIRST; k < FIRST + COUNT; ++k) {
        const int cell = cell_of(number, k, thread);
        if (!is_cell(cell)) break;
        const Pixels(&channels)[CELL] = held[k - FIRST];
        if constexpr (PAIR == 2) {
            Vector<unsigned, 4> first, rest;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                Registers<Pixels> even, odd;
                even.value = channels[2 * i], odd.value = channels[2 * i + 1];
                first[i] = __byte_perm(even.word[0], odd.word[0], first_bytes);
                rest[i] = __byte_perm(even.word[0], odd.word[0], rest_bytes);
            }
            *reinterpret_cast<Vector<unsigned, 4>*>(stage + (cell + second) * 16) = first;
            *reinterpret_cast<Vector<unsigned, 4>*>(stage + (cell + 1 - second) * 16) = rest;
        } else {
            Vector<Element, CELL> high, low;
#pragma unroll
            for (int e = 0; e < CELL; ++e) high[e] = factor(channels[e][0], low[e]);
            *reinterpret_cast<Vector<Element, CELL>*>(stage + cell * 16) = high;
            if constexpr (SPLIT) *reinterpret_cast<Vector<Element, CELL>*>(stage + (CELLS + cell) * 16) = low;
        }
    }
}

// From the tensor to a stage, once that is empty.
template <bool EVEN, int FIRST, int COUNT>
__device__ __forceinline__ void move_pairs(const Work& work, const Sources& sources, const Element* from, int channels,
                                           int number, int thread, const Position& position, unsigned shared) {
    Held<COUNT> held;
    load_pairs<EVEN, FIRST, COUNT>(work, sources, from, channels, number, thread, held);
    if (number == 0 && FIRST == 0) barrier_wait(position.empty(shared), position.turn() ^ 1);
    store_pairs<FIRST, COUNT>(shared_memory() + position.slot() * (STAGE * 16), number, thread, held);
}

// Loads the chunks of all tiles of the block that are the squad's.
__device__ __forceinline__ void produce(const ConvtArgs& args, const Tiles& tiles) {
    const int squad = (threadIdx.x - CONSUMER_THREADS) / SQUAD_THREADS, thread = threadIdx.x % SQUAD_THREADS;
    const unsigned shared = shared_address(shared_memory());
    const char* const packed = static_cast<const char*>(args.packed);
    if (plan::RESIDENT && squad == 0 && thread == 0) {
        const unsigned barrier = shared + WEIGHTS_BARRIER_AT;
        const long long set = (long long)(blockIdx.x % WEIGHT_SETS) * (WEIGHT_SET * 16);
        barrier_arrive_expecting(barrier, WEIGHT_SET * 16);
        copy_bulk(shared + WEIGHTS_AT, packed + set, WEIGHT_SET * 16, barrier);
    }
    const bool even = PAIR == 1 || is_even(args);
    Position first;  // of the tile
#pragma unroll 1
    for (long long tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
        const Work work = work_of(args, tiles, tile);
        Sources sources;
        if constexpr (BATCHES == 1) sources = sources_of(work, 0, thread);
#pragma unroll 1
        for (int chunk = int((squad - first.count) % SQUADS); chunk < work.chunks; chunk += SQUADS) {
            const Position position{first.count + chunk};
            const int tap = chunk / DEPTH_CHUNKS, part = chunk % DEPTH_CHUNKS;
            if (!plan::RESIDENT && thread == 0) {
                const unsigned bytes = work.rows.taps * (KW * TAP_CELLS * 16);
                const int kd = work.first_tap_d + tap * layer::TAP_STEP_D;
                barrier_wait(position.empty(shared), position.turn() ^ 1);
                barrier_arrive_expecting(position.full(shared), bytes);
                copy_bulk(shared + (position.slot() * STAGE + INPUT_STAGE) * 16,
                          packed + ((long long)work.weights * WEIGHT_SET + (kd * DEPTH_CHUNKS + part) * WEIGHT_STAGE) * 16,
                          bytes, position.full(shared));
            }
            const index_t d = work.first_d - tap * layer::OFFSET_STEP_D;
            const Element* from = work.x + (index_t(part * plan::CHUNK) * work.depth + d) * work.plane;
#pragma unroll 1
            for (int number = 0; number < BATCHES; ++number) {
                if constexpr (BATCHES > 1) sources = sources_of(work, number, thread);
                const int channels = layer::IN_PER_GROUP - part * plan::CHUNK;
                if (even) {
                    move_pairs<true, 0, HELD>(work, sources, from, channels, number, thread, position, shared);
                } else {  // each takes a register of its own on its way
                    constexpr int HALF = ceil_div(HELD, PAIR);
                    move_pairs<false, 0, HALF>(work, sources, from, channels, number, thread, position, shared);
                    if constexpr (HALF < HELD)
                        move_pairs<false, HALF, HELD - HALF>(work, sources, from, channels, number, thread, position,
                                                             shared);
                }
            }
            publish_to_tensor_cores();
            __syncwarp();
            if (thread % 32 == 0) barrier_arrive(position.full(shared));
        }
        first.count += work.chunks;
    }
}

// ---------------------------------------------------------------- products
using Sums = float[COLUMN_SETS][RUNS][RUN_SUMS];

// Products of a stage. a, b: operands of its first tap and of the warpgroup's first position.
__device__ __forceinline__ void multiply_stage(unsigned long long a, unsigned long long b, int taps, Sums& sums) {
    [[maybe_unused]] float partial[RUNS][RUN_SUMS];
    if constexpr (!SPLIT) products_begin();
    // A loop costs the pipe of products a pause, and code its length.
    constexpr bool SAME = FOLDED || KH % layer::TAP_STEP_H == 0, UNROLL = SAME && !SPLIT && TAPS_H * KW * STEPS * RUNS <= 64;
    if constexpr (SAME) taps = TAPS_H;
#pragma unroll(UNROLL ? TAPS_H : 1)
    for (int j = 0; j < taps; ++j) {
#pragma unroll(SPLIT ? 1 : STEPS)
        for (int step = 0; step < STEPS; ++step) {
            const unsigned long long left = a + (j * KW * TAP_CELLS + step * (PARTS * 2 * BLOCK_ROWS));
            const unsigned long long right =
                b + ((taps - 1 - j) * (TAP_ROWS * TILE_W) + step * (2 * PLANE));
            static_for<0, SW>([&](auto rw) {
                if constexpr (Horizontal::used(rw)) {
                    constexpr int PHASE = decltype(rw)::value, SET = Horizontal::rank(PHASE);
                    constexpr int TAPS = Horizontal::taps(PHASE);
                    static_for<0, TAPS>([&](auto item) {
                        constexpr int I = decltype(item)::value, TAP = Horizontal::sorted(Horizontal::first(PHASE) + I);
                        constexpr int AT = Horizontal::offset(TAP) - FIRST_COLUMN;
                        static_for<0, RUNS>([&](auto run) {
                            const unsigned long long x = left + TAP * TAP_CELLS, y = right + AT + int(run) * (ROW_STEP * TILE_W);
                            if constexpr (SPLIT) {
                                // Tensor cores cut their sums off, and long ones drift: few products join the total at a
                                // time. The small ones first.
                                constexpr bool FIRST = I % plan::JOIN == 0;
                                if constexpr (FIRST && decltype(run)::value == 0) products_begin();
                                wgmma<Element>(partial[run], x + 2 * BLOCK_ROWS, y, FIRST ? 0 : 1);
                                wgmma<Element>(partial[run], x, y + CELLS, 1);
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

// What the products need to know of a tile. The rest is worked out again when they are done, for it would take registers
// meanwhile.
struct Multiplied {
    int chunks, taps_h, first_tap_d;
    __device__ __forceinline__ explicit Multiplied(const Work& work)
        : chunks(work.chunks), taps_h(work.rows.taps), first_tap_d(work.first_tap_d) {}
};

// Multiplies and stores every tile of the block that is the team's.
__device__ __forceinline__ void consume(const ConvtArgs& args, const Tiles& tiles) {
    // All lanes of a warp agree, and the compiler is to know it.
    const int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0), warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int team = group / TEAM, group_m = group % TEAM % plan::GROUPS_M, group_n = group % TEAM / plan::GROUPS_M;
    const int row = TALL ? group_n * OWN_TILES : group_n * OWN_TILES / ROW_TILES;
    const int column = TALL ? 0 : group_n * OWN_TILES % ROW_TILES * 8;
    const int product_row = group_m * 64 + warp * 16;
    const unsigned shared = shared_address(shared_memory());
    const unsigned first_a = shared + (plan::RESIDENT ? WEIGHTS_AT : INPUT_STAGE * 16) + group_m * (64 * 16);
    const unsigned first_b = shared + (row * ROW_STEP * TILE_W + column) * 16;
    if (plan::RESIDENT) barrier_wait(shared + WEIGHTS_BARRIER_AT, 0);

    Position position;
    int turn = 0;
    unsigned parity = team == 0 ? 1 : 0;  // the first team waits for nobody at first
#pragma unroll 1
    for (long long tile = blockIdx.x; tile < tiles.count; tile += gridDim.x) {
        const Multiplied work(work_of(args, tiles, tile));
        const bool own = turn == team;
        if (++turn == plan::TEAMS) turn = 0;
        if (!own) {
            position.count += work.chunks;
            continue;
        }
        Sums sums = {};
        if (plan::TEAMS > 1) barrier_wait(shared + TEAM_BARRIERS_AT + 8 * team, parity);
        parity ^= 1;
#pragma unroll 1
        for (int chunk = 0; chunk < work.chunks; ++chunk, ++position.count) {
            barrier_wait(position.full(shared), position.turn());
            const int stage = position.slot() * (STAGE * 16);
            const int kd = work.first_tap_d + chunk / DEPTH_CHUNKS * layer::TAP_STEP_D;
            const int weights = plan::RESIDENT ? (kd * DEPTH_CHUNKS + chunk % DEPTH_CHUNKS) * (WEIGHT_STAGE * 16) : stage;
            multiply_stage(operand(first_a + weights, BLOCK_ROWS * 16, 128),
                           operand(first_b + stage, PLANE * 16, TALL ? ROW_STEP * TILE_W * 16 : 128), work.taps_h, sums);
            if constexpr (SPLIT) {
                if (lane == 0) barrier_arrive(position.empty(shared));
            } else {  // the products of the chunk before are done
                products_wait<1>();
                if (chunk > 0 && lane == 0) barrier_arrive(Position{position.count - 1}.empty(shared));
            }
        }
        if (plan::TEAMS > 1 && lane == 0) barrier_arrive(shared + TEAM_BARRIERS_AT + 8 * ((team + 1) % plan::TEAMS));
        if constexpr (!SPLIT) {
            products_wait<0>();
            if (work.chunks > 0 && lane == 0) barrier_arrive(Position{position.count - 1}.empty(shared));
        }
        store_tile(args, work_of(args, tiles, made_new(tile)), product_row, row, column, sums);
    }
}
extern "C" __global__ void __launch_bounds__(THREADS, plan::MIN_BLOCKS)
    CONVT_ENTRY(const __grid_constant__ ConvtArgs args) {
    if (threadIdx.x == 0) {
        const unsigned shared = shared_address(shared_memory());
        for (unsigned slot = 0; slot < plan::STAGES; ++slot) {
            barrier_init(Position{slot}.full(shared), SQUAD_THREADS / 32 + (plan::RESIDENT ? 0 : 1));
            barrier_init(Position{slot}.empty(shared), 4 * TEAM);
        }
        if (plan::RESIDENT) barrier_init(shared + WEIGHTS_BARRIER_AT, 1);
        for (int team = 0; team < plan::TEAMS; ++team) barrier_init(shared + TEAM_BARRIERS_AT + 8 * team, 4 * TEAM);
        publish_to_tensor_cores();
    }
    __syncthreads();
    const Tiles tiles(args);
    if (threadIdx.x >= CONSUMER_THREADS) {
        if constexpr (UNEVEN) give_registers<PRODUCER_REGISTERS>();
        produce(args, tiles);
    } else {
        if constexpr (UNEVEN) take_registers<CONSUMER_REGISTERS>();
        consume(args, tiles);
    }
}
