// implicit_gemm_sm90: sums, and the outputs that they are of.

// Of a row of the product: its output row among those of a position, and its channel among the block's.
__device__ __forceinline__ int line_of(const Work& work, int row) {
    return FOLDED ? row / BLOCK_CHANNELS : work.phase;
}
__device__ __forceinline__ int channel_of(int row) { return FOLDED ? row % BLOCK_CHANNELS : row; }

// Of a row of the tile: its image, and its output row from `line` on.
__device__ __forceinline__ int image_of(int row) { return row % IMAGES; }
__device__ __forceinline__ index_t out_row(const Work& work, int row, int line) {
    return index_t(work.q_h + row / IMAGES) * LINES + line;
}
__device__ __forceinline__ bool has_image(const Work& work, int row) { return IMAGES == 1 || image_of(row) < work.images; }
// Where in y a channel of the block and an output row begin, from the tile's first image on.
__device__ __forceinline__ index_t line_offset(const Work& work, int row, int channel, index_t out_row) {
    return image_offset(image_of(row), layer::OUT_CHANNELS, work.out_plane) + channel * work.out_plane +
           out_row * work.out_width;
}

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
// warp's first; first_row, q_w: of the tile, of the lane's first sum.
__device__ __forceinline__ void forget_unreached(const Work& work, int row, int first_row, int q_w, Sums& sums) {
#pragma unroll
    for (int row_tile = 0; row_tile < OWN_TILES; row_tile += LINE_TILES) {
        const int h = work.q_h + (first_row + row_tile / LINE_TILES) / IMAGES;
        const bool above = row_reached(work, h, line_of(work, row));
        const bool below = FOLDED ? row_reached(work, h, line_of(work, row + 8)) : above;
#pragma unroll
        for (int tile = row_tile; tile < row_tile + LINE_TILES && tile < OWN_TILES; ++tile)
            static_for<0, SW>([&](auto rw) {
                if constexpr (Horizontal::used(rw)) {
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        const bool column = reached<Horizontal, int(rw)>(q_w + (tile - row_tile) * 8 + e, work.width);
                        float* const four = &sums[Horizontal::rank(rw)][tile / RUN_TILES][tile % RUN_TILES * 4];
                        if (!(above && column)) four[e] = EXACT_ZERO;
                        if (!(below && column)) four[2 + e] = EXACT_ZERO;
                    }
                }
            });
    }
}

// One sum by the definition, for those.
__device__ __forceinline__ float plain_sum(const Work& work, int image, int channel, index_t line, index_t w) {
    float sum = 0;
    const Element* const images = work.x + image_offset(image, layer::IN_CHANNELS, work.depth * work.plane);
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
                    images + (work.first_d - d * layer::OFFSET_STEP_D) * work.plane + h / SH * work.width + at / SW;
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

// What a warp has of a tile: its first row of the product, and the first row and column of its warpgroup's positions.
struct Part {
    int product_row, row, column;
};
__device__ __forceinline__ Part part_of(int group, int warp) {
    const int group_m = group % plan::GROUPS_M, group_n = group / plan::GROUPS_M;
    return {group_m * 64 + warp * 16, TALL ? group_n * OWN_TILES : group_n * OWN_TILES / ROW_TILES,
            TALL ? 0 : group_n * OWN_TILES % ROW_TILES * 8};
}
// A consuming warp's first slab.
__device__ __forceinline__ char* slab_of(int warp) {
    return shared_memory() + SLABS_AT + warp * SLAB_BYTES;
}

// What a tile's sums begin with: the exact zero where it has no products.
__device__ __forceinline__ float first_sum(int chunks) { return chunks > 0 ? 0.0f : EXACT_ZERO; }

// A warp's sums, which are zero where no tap inside the image reaches.
__device__ __forceinline__ void finish_sums(const Work& work, const Part& part, Sums& sums) {
    constexpr bool EMPTY_LINES = FOLDED && Vertical::used() < SH;  // output rows of a position that have no taps
    if constexpr (EMPTY_LINES || !(layer::ALL_REACHED_H && layer::ALL_REACHED_W))
        if (work.chunks > 0 &&
            (EMPTY_LINES ||
             !(all_reached<Vertical, layer::OFFSET_STEP_H>(work.q_h * ROW_STEP, IMAGE_ROWS * ROW_STEP, work.height,
                                                           work.out_height) &&
               all_reached<Horizontal, layer::OFFSET_STEP_W>(work.q_w, plan::POSITIONS_W, work.width, work.out_width))))
            forget_unreached(work, part.product_row, part.row, work.q_w + part.column + threadIdx.x % 4 * 2,
                             sums);
}
