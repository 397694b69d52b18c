// implicit_gemm: stores.

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
