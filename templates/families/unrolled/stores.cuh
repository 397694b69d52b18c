// unrolled: stores.

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
