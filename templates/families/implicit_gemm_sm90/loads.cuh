// implicit_gemm_sm90: loads.

// A tile: what is loaded, multiplied and stored. Tiles that differ in weights only are neighbours.
struct Work : Place {
    Rows rows;
    int phase, weights, chunks;  // row phase, set of weights
    int images;                  // of IMAGES, that exist
};
// Offset of an element of another image of the tile.
__device__ __forceinline__ index_t image_offset(int image, int channels, index_t channel_pitch) {
    return IMAGES == 1 ? 0 : index_t(image) * channels * channel_pitch;
}
struct Tiles {
    index_t width, height, depth;
    long long count;
    __device__ __forceinline__ explicit Tiles(const ConvtArgs& args)
        : width(ceil_div(ceil_div(index_t(args.out[2]), index_t(SW)), index_t(plan::POSITIONS_W))),
          height(ceil_div(ceil_div(index_t(args.out[1]), index_t(LINES)), index_t(IMAGE_ROWS))),
          depth(index_t(args.out[0])),
          count((long long)width * height * depth * ((args.batch + IMAGES - 1) / IMAGES) * WEIGHT_SETS) {}
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
    work.q_h = int(next(tiles.height)) * IMAGE_ROWS;
    const index_t d = tiles.depth == 1 ? 0 : next(tiles.depth);
    const long long sample = tile * IMAGES;
    work.images = IMAGES == 1 || args.batch - sample > IMAGES ? IMAGES : int(args.batch - sample);
    const int group = work.weights / (ROW_PHASES * CHANNEL_BLOCKS);
    const int first = work.weights / ROW_PHASES % CHANNEL_BLOCKS * BLOCK_CHANNELS;
    work.channel = group * layer::OUT_PER_GROUP + first;
    work.channels = min(BLOCK_CHANNELS, layer::OUT_PER_GROUP - first);
    work.x = static_cast<const Element*>(args.x) +
             (sample * layer::IN_CHANNELS + group * layer::IN_PER_GROUP) * ((long long)work.depth * work.plane);
    work.w = static_cast<const Element*>(args.w) +
             ((long long)group * layer::IN_PER_GROUP * layer::OUT_PER_GROUP + first) * (layer::KERNEL_D * KH * KW);
    work.y = (sample * layer::OUT_CHANNELS + work.channel) * (long long)work.out_plane +
             (long long)d * work.out_height * work.out_width;
    find_depth_taps(work, d);
    if constexpr (FOLDED)
        work.rows = {TAPS_H, 0, folded_high(), folded_low()};
    else
        work.rows = rows_of(work.phase);
    work.chunks = work.rows.taps > 0 ? work.taps_d * (APART ? work.rows.taps : 1) * DEPTH_CHUNKS : 0;
    return work;
}

// What a chunk is of: a depth tap (of those that the tile has), a row tap where they are apart, and a part of the channels.
struct Chunk {
    int tap_d, row_tap, part;
    int weights;  // the stage of its weights, from the first of the set on
    __device__ __forceinline__ Chunk(int chunk, int first_tap_d, int taps_h) : part(chunk % DEPTH_CHUNKS) {
        const int tap = chunk / DEPTH_CHUNKS, rows = SAME_TAPS_H ? TAPS_H : taps_h;
        tap_d = APART ? tap / rows : tap;
        row_tap = APART ? tap % rows : 0;
        weights = ((first_tap_d + tap_d * layer::TAP_STEP_D) * SET_TAPS_H + row_tap) * DEPTH_CHUNKS + part;
    }
};

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
    // Teams may give back stages in another order than they were filled. So that nobody takes the end of one turn of a stage
    // for that of the next but one, all of its turns are one squad's then.
    while (2 * n <= plan::STAGES && 2 * n <= 4 * plan::LOADERS && (plan::TEAMS == 1 || plan::STAGES % (2 * n) == 0) &&
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
// for all chunks of a tile, or of a row tap.
struct Sources {
    index_t offset[HELD];
    unsigned whole;  // a bit each: both pixels are inside
};
__device__ __forceinline__ Sources sources_of(const Work& work, int batch, int row_tap, int thread) {
    static_assert(HELD <= 32, "a bit each");
    Sources sources;
    sources.whole = 0;
    const index_t channel_pitch = work.depth * work.plane;
    const int first_h = work.q_h * ROW_STEP + work.rows.low + (APART ? (work.rows.taps - 1 - row_tap) * TAP_ROWS : 0);
    const int first_w = work.q_w + FIRST_COLUMN;
#pragma unroll
    for (int k = 0; k < HELD; ++k) {
        const int cell = cell_of(batch, k, thread), pixel = cell % PLANE, first = cell / PLANE * CELL;
        const int h = first_h + pixel / TILE_W / IMAGES, w = first_w + pixel % TILE_W, image = pixel / TILE_W % IMAGES;
        const bool inside = is_cell(cell) && h >= 0 && h < work.height && w >= 0 && w < work.width &&
                            (IMAGES == 1 || image < work.images);
        sources.offset[k] = inside ? image_offset(image, layer::IN_CHANNELS, channel_pitch) + first * channel_pitch +
                                         index_t(h) * work.width + w
                                   : -1;
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
        if constexpr (BATCHES == 1 && !APART) sources = sources_of(work, 0, 0, thread);
#pragma unroll 1
        for (int chunk = int((squad - first.count) % SQUADS); chunk < work.chunks; chunk += SQUADS) {
            const Position position{first.count + chunk};
            const Chunk own(chunk, work.first_tap_d, work.rows.taps);
            if (!plan::RESIDENT && thread == 0) {
                const unsigned bytes = (APART ? 1 : work.rows.taps) * (KW * TAP_CELLS * 16);
                barrier_wait(position.empty(shared), position.turn() ^ 1);
                barrier_arrive_expecting(position.full(shared), bytes);
                copy_bulk(shared + (position.slot() * STAGE + INPUT_STAGE) * 16,
                          packed + ((long long)work.weights * WEIGHT_SET + own.weights * WEIGHT_STAGE) * 16,
                          bytes, position.full(shared));
            }
            const index_t d = work.first_d - own.tap_d * layer::OFFSET_STEP_D;
            const Element* from = work.x + (index_t(own.part * plan::CHUNK) * work.depth + d) * work.plane;
#pragma unroll 1
            for (int number = 0; number < BATCHES; ++number) {
                if constexpr (BATCHES > 1 || APART) sources = sources_of(work, number, own.row_tap, thread);
                const int channels = layer::IN_PER_GROUP - own.part * plan::CHUNK;
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
