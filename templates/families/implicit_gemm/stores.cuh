// implicit_gemm: stores.

// What no tap inside the image reaches is exactly zero, whatever weights the zeros beyond it met. q_h, q_w: of the lane's
// first sum.
__device__ __forceinline__ void forget_unreached(const Place& place, const Rows& rows, int q_h, int q_w,
                                                 float (&sums)[COLUMN_SETS][WARP_M][WARP_N][4]) {
#pragma unroll
    for (int n = 0; n < WARP_N; ++n) {
        const int h = q_h + n / WARP_COLUMNS, w = q_w + n % WARP_COLUMNS * 8;
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

// One sum by the definition, for those that came out as NaN because a factor could not be split, or because a weight that
// does not exist met what is not finite. h, w: of the output.
__device__ __forceinline__ float plain_sum(const Place& place, const Part& part, int channel, index_t h, index_t w) {
    float sum = 0;
#pragma unroll 1
    for (int d = 0; d < place.taps_d; ++d) {
        const Channels channels = channels_of(part, d);
#pragma unroll 1
        for (int kh = 0; kh < whole::KERNEL_H; ++kh)
#pragma unroll 1
            for (int kw = 0; kw < whole::KERNEL_W; ++kw) {
                const index_t from_h = h + whole::PAD_H - kh * whole::DILATION_H;
                const index_t from_w = w + whole::PAD_W - kw * whole::DILATION_W;
                if (from_h < 0 || from_h % whole::STRIDE_H != 0 || from_h / whole::STRIDE_H >= place.height) continue;
                if (from_w < 0 || from_w % whole::STRIDE_W != 0 || from_w / whole::STRIDE_W >= place.width) continue;
                const Element* x = place.x +
                                   (channels.first * place.depth + place.first_d - d * layer::OFFSET_STEP_D) * place.plane +
                                   from_h / whole::STRIDE_H * place.width + from_w / whole::STRIDE_W;
                const int kd = place.first_tap_d + d * layer::TAP_STEP_D;
                const Element* factor =
                    place.w +
                    (((plan::weight_index_t(channels.first) * layer::OUT_PER_GROUP + channel) * layer::KERNEL_D + kd) *
                         whole::KERNEL_H + kh) * whole::KERNEL_W + kw;
#pragma unroll 1
                for (int c = channels.first; c < channels.end; ++c) {
                    sum = fmaf(to_float(load_global(x)), to_float(load_global(factor)), sum);
                    if (sum != sum) return sum;  // and stays so
                    x += place.depth * place.plane;
                    factor += plan::weight_index_t(layer::OUT_PER_GROUP) *
                              (layer::KERNEL_D * whole::KERNEL_H * whole::KERNEL_W);
                }
            }
    }
    return sum;
}

// Of a slab, `set` by set, which outputs its lines are.
struct Lines {
    int turn;  // which 16 channels of each warp it has, where they pass through it one after the other
    __device__ __forceinline__ int channel(int set) const {  // within the block
        return FOLD > 1 ? set / plan::FOLD_H : (set / 16 * WARP_M + turn) * 16 + set % 16;
    }
};
__device__ __forceinline__ index_t out_row(const Place& place, int phase, int set, int row) {
    return (index_t(place.q_h + row) * SH + phase) * plan::FOLD_H + set % plan::FOLD_H - SKEW_H;
}
__device__ __forceinline__ index_t first_out_column(const Place& place) {
    return index_t(place.q_w) * (SW * plan::FOLD_W) - SKEW_W;
}

// A line of a slab from its element `skip` on.
struct SlabLine {
    const float* line;  // 16-byte aligned
    int skip;
    __device__ __forceinline__ float at(int e) const { return line[skip + e]; }
    __device__ __forceinline__ void from(int head, int b, float (&sums)[VECTOR]) const {
        if constexpr (SKEW_W == 0)
            SlabRow{line}.from(head, b, sums);
        else
            SlabRow{line + (skip + head) / VECTOR * VECTOR}.from((skip + head) % VECTOR, b, sums);
    }
};

// Writes lines of the block, finished or as partial sums: `sets` times POSITIONS_H. channel_of: a set's channel within
// the block; values_of: the sums of a line from its element `skip` on.
template <class ChannelOf, class ValuesOf>
__device__ __forceinline__ void store_lines(const ConvtArgs& args, const Place& place, int phase, int sets,
                                            const EpilogueChannel* finish, const ChannelOf& channel_of,
                                            const ValuesOf& values_of) {
    constexpr int UNIT = plan::SPLIT > 1 ? 1 : VECTOR;  // partial sums leave as words, side by side
    constexpr int LANES = LINE / UNIT < 32 ? floor_power_of_two(LINE / UNIT) : 32;
    const index_t column = first_out_column(place);
    const int skip = SKEW_W > 0 && column < 0 ? -int(column) : 0;
    const index_t first = column + skip;
    const int count = int(min(index_t(LINE - skip), place.out_width - first));
#pragma unroll 1
    for (int i = threadIdx.x / LANES; i < sets * plan::POSITIONS_H; i += THREADS / LANES) {
        const int set = i / plan::POSITIONS_H, row = i % plan::POSITIONS_H, channel = channel_of(set);
        const index_t h = out_row(place, phase, set, row);
        if ((SKEW_H > 0 && h < 0) || h >= place.out_height || channel >= place.channels) continue;
        const long long at = place.y + channel * (long long)place.out_plane + h * place.out_width + first;
        if constexpr (plan::SPLIT > 1) {
            const auto values = values_of(set, row, skip);
            for (int e = threadIdx.x % LANES; e < count; e += LANES)
                store_global_for_next(args.workspace + at + e, values.at(e));
            continue;
        }
        EpilogueChannel parts;
        if constexpr (layer::HAS_BIAS || layer::AFFINE) parts = finish[channel];
        store_line<ceil_div(LINE, LANES * VECTOR)>(args, at, count, threadIdx.x % LANES, LANES, parts,
                                                   values_of(set, row, skip));
    }
}

// The sums of 16 rows of the product of a warp, column phases side by side. Where one is not finite, `probe` becomes NaN.
// first_row: of the slab's sets, or, folded, of the block's product. position: of the lane's first sum, in outputs of an
// unfolded line.
template <int M>
__device__ __forceinline__ void write_slab(float* slab, int first_row, int position,
                                           const float (&sums)[COLUMN_SETS][WARP_M][WARP_N][4], float& probe) {
    // Outputs side by side: of the two rows of a lane, and, where that is the fold, of all that follow.
    constexpr int SIDE = NEIGHBOURS ? 2 : 1, RUN = 2 * SW * SIDE;
    constexpr int V = plan::FOLD_W == SIDE ? widest(RUN, 4) : SIDE;
#pragma unroll
    for (int half = 0; half < 2 / SIDE; ++half) {
        const int row = first_row + row_of_tile(threadIdx.x % 32 / 4, half);
        if (FOLD > 1 && plan::BLOCK_CHANNELS % FOLD != 0 && row >= BLOCK_OUTPUTS * FOLD) continue;
        float* const target =
            slab + row / plan::FOLD_W * SLAB_PITCH + position * plan::FOLD_W + row % plan::FOLD_W;
#pragma unroll
        for (int n = 0; n < WARP_N; ++n) {
            float run[RUN];
            static_for<0, RUN>([&](auto at) {
                constexpr int OUTPUT = decltype(at)::value / SIDE, E = OUTPUT / SW, R = OUTPUT % SW;
                if constexpr (Horizontal::used(R)) {
                    run[at] = sums[Horizontal::rank(R)][M][n][2 * (half + at % SIDE) + E];
                    if constexpr (REPAIRS) probe = fmaf(run[at], 0.0f, probe);
                } else {
                    run[at] = EXACT_ZERO;
                }
            });
            float* const to = target + n / WARP_COLUMNS * LINE + n % WARP_COLUMNS * (8 * SW * plan::FOLD_W);
#pragma unroll
            for (int i = 0; i < RUN; i += V) {
                Vector<float, V> v;
#pragma unroll
                for (int e = 0; e < V; ++e) v[e] = run[i + e];
                *reinterpret_cast<Vector<float, V>*>(to + i / SIDE * plan::FOLD_W) = v;
            }
        }
    }
}

// Whether a tap reaches an output from inside the image, along one axis.
__device__ __forceinline__ bool reached_output(index_t output, index_t size, int kernel, int stride, int pad,
                                               int dilation) {
#pragma unroll 1
    for (int k = 0; k < kernel; ++k) {
        const index_t from = output + pad - k * dilation;
        if (from >= 0 && from % stride == 0 && from / stride < size) return true;
    }
    return false;
}
// Whether that is so for all outputs of a folded block; false more often than it must be. Outputs of an axis that is folded
// are reached up to the last one of the image's last element.
__device__ __forceinline__ bool block_is_reached(const Place& place, int phase) {
    const bool rows = plan::FOLD_H == 1
                          ? all_reached<Vertical, layer::OFFSET_STEP_H>(place.q_h, plan::POSITIONS_H, place.height,
                                                                        place.out_height)
                          : out_row(place, phase, plan::FOLD_H - 1, plan::POSITIONS_H - 1) + whole::PAD_H <=
                                (place.height - 1) * whole::STRIDE_H + whole::KERNEL_H - 1;
    const bool columns = plan::FOLD_W == 1
                             ? all_reached<Horizontal, layer::OFFSET_STEP_W>(place.q_w, plan::POSITIONS_W, place.width,
                                                                             place.out_width)
                             : first_out_column(place) + LINE - 1 + whole::PAD_W <=
                                   (place.width - 1) * whole::STRIDE_W + whole::KERNEL_W - 1;
    return rows && columns;
}

// Once the slab is written: sums that are not finite are computed once more, and those that nothing reaches are zeros.
__device__ __forceinline__ void repair_slab(const Place& place, const Part& part, int phase, const Lines& lines,
                                            float* slab) {
#pragma unroll 1
    for (int i = threadIdx.x; i < SLAB_SETS * plan::POSITIONS_H * LINE; i += THREADS) {
        const int set = i / (plan::POSITIONS_H * LINE), row = i / LINE % plan::POSITIONS_H;
        const int channel = lines.channel(set);
        const index_t h = out_row(place, phase, set, row), w = first_out_column(place) + i % LINE;
        if (channel >= place.channels || h < 0 || h >= place.out_height || w < 0 || w >= place.out_width) continue;
        float& sum = slab[set * SLAB_PITCH + row * LINE + i % LINE];
        const bool reached =
            FOLD == 1 ||
            (reached_output(h, place.height, whole::KERNEL_H, whole::STRIDE_H, whole::PAD_H, whole::DILATION_H) &&
             reached_output(w, place.width, whole::KERNEL_W, whole::STRIDE_W, whole::PAD_W, whole::DILATION_W));
        if (!reached)
            sum = EXACT_ZERO;
        else if (REPAIRS && sum != sum)
            sum = plain_sum(place, part, channel, h, w);
    }
}

__device__ __forceinline__ void store_sums(const ConvtArgs& args, const Place& place, const Part& part, int phase,
                                           float* slab, const EpilogueChannel* finish, int* failed,
                                           const float (&sums)[COLUMN_SETS][WARP_M][WARP_N][4]) {
    constexpr bool FORGETS = FOLD > 1 && !(layer::ALL_REACHED_H && layer::ALL_REACHED_W);
    constexpr int TURNS = FOLD > 1 ? 1 : WARP_M;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % plan::WARPS_M, warp_n = warp / plan::WARPS_M;
    const int row = warp_n / WARPS_ACROSS * WARP_ROWS, column = warp_n % WARPS_ACROSS * WARP_COLUMNS * 8;
    const int position = (row * plan::POSITIONS_W + column + lane % 4 * 2) * SW;
    const bool forgets = FORGETS && !block_is_reached(place, phase);
#pragma unroll 1
    for (int turn = 0; turn < TURNS; ++turn) {  // the code that stores is there once
        const Lines lines{turn};
        __syncthreads();
        [[maybe_unused]] float probe = 0;
        static_for<0, WARP_M>([&](auto m) {
            constexpr int M = decltype(m)::value;
            if (FOLD > 1)
                write_slab<M>(slab, (warp_m * WARP_M + M) * 16, position, sums, probe);
            else if (turn == M)
                write_slab<M>(slab, warp_m * 16, position, sums, probe);
        });
        if constexpr (REPAIRS || FORGETS) {
            if (probe != 0.0f) *failed = 1;  // NaN, and so are all that are not finite
            __syncthreads();
            if (*failed != 0 || forgets) repair_slab(place, part, phase, lines, slab);
        }
        __syncthreads();
        store_lines(args, place, phase, SLAB_SETS, finish, [&](int set) { return lines.channel(set); },
                    [&](int set, int row, int skip) {
                        return SlabLine{slab + set * SLAB_PITCH + row * LINE, skip};
                    });
    }
}
