// implicit_gemm: loads.

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
    constexpr int UNITS = SLOTS * TAP_WORDS / 4, EACH = ceil_div(TAPS_H * UNITS, THREADS);
#pragma unroll(EACH <= 8 ? EACH : 4)
    for (int k = 0; k < EACH; ++k) {
        const int i = threadIdx.x + k * THREADS;
        if (i < taps * UNITS) copy_async<16>(staged + 4 * i, packed + 4 * i);
    }
}

// Four words of a lane of the packed weights, [channel block of all groups][row phase, by its first tap][depth tap]
// [chunk][row tap][slot of column taps][step][16 channels][lane][word], from PyTorch's order. Zeros are for what does not exist:
// channels, taps that a row phase has fewer of than another, those that a fold lacks, and the second of half a pair.
template <class T>
__device__ __forceinline__ Vector<unsigned, 4> packed_unit(const T* w, unsigned long long unit) {
    const auto take = [&](int count) {  // the innermost of the indices that are left
        const int index = int(unit % unsigned(count));
        unit /= unsigned(count);
        return index;
    };
    const int slot = take(32), m = take(M_TILES), step = take(STEPS), column = take(SLOTS), j = take(TAPS_H);
    const int chunk = take(DEPTH_CHUNKS), tap_d = take(layer::KERNEL_D), first_tap = take(USED_ROWS);
    const int channel_block = take(CHANNEL_BLOCKS), group = int(unit);
    // slot_of(lane_group, member) == 4 * slot
    const int pair = slot / 8, rest = slot % 8 ^ pair * 2, lane_group = pair * 2 + rest % 2, member = rest / 2;

    const int tap_h = first_tap + j * layer::TAP_STEP_H;
    const int in = chunk * plan::CHUNK + (step * 8 + member) * WORD_CHANNELS;
    // Words 4 to 7 of a step are other channels, or another tap.
    const auto tap_of = [&](int half) {
        if constexpr (!PAIRED) return column;
        int phase = 0;
        while (column >= slots_before(phase + 1)) ++phase;
        const int tap = 2 * (column - slots_before(phase)) + half;
        return tap < Horizontal::taps(phase) ? Horizontal::sorted(Horizontal::first(phase) + tap) : -1;
    };
    const auto weight = [&](int row, int c, int tap_w) {
        const int o = channel_block * BLOCK_OUTPUTS + row / FOLD;
        const int kh = tap_h * plan::FOLD_H + row / plan::FOLD_W % plan::FOLD_H;
        const int kw = tap_w * plan::FOLD_W + row % plan::FOLD_W;
        const bool exists = tap_w >= 0 && row < BLOCK_OUTPUTS * FOLD && o < layer::OUT_PER_GROUP && c < layer::IN_PER_GROUP &&
                            kh < whole::KERNEL_H && kw < whole::KERNEL_W;
        if (!exists) return T{};
        const long long channels = ((long long)group * layer::IN_PER_GROUP + c) * layer::OUT_PER_GROUP + o;
        return load_global(w + ((channels * layer::KERNEL_D + tap_d) * whole::KERNEL_H + kh) * whole::KERNEL_W + kw);
    };
    Vector<unsigned, 4> words;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int of = m * 16 + row_of_tile(lane_group, i % 2), c = in + (PAIRED ? 0 : i / 2 * 4 * WORD_CHANNELS), tap = tap_of(i / 2);
        if constexpr (sizeof(T) == 2)
            words[i] = word_of(weight(of, c, tap).bits, weight(of, c + 1, tap).bits);
        else
            words[i] = __float_as_uint(weight(of, c, tap));
    }
    return words;
}
