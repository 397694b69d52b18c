// unrolled: loads.

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
