// implicit_gemm_sm90: products.

using Sums = float[COLUMN_SETS][RUNS][RUN_SUMS];

__device__ __forceinline__ void fill(Sums& sums, float value) {
#pragma unroll
    for (int set = 0; set < COLUMN_SETS; ++set)
#pragma unroll
        for (int run = 0; run < RUNS; ++run)
#pragma unroll
            for (int i = 0; i < RUN_SUMS; ++i) sums[set][run][i] = value;
}

// From 8 rows or columns of a product to the next, in bytes.
constexpr int A_DOWN = 128, B_DOWN = TALL ? ROW_STEP * TILE_W * 16 : 128;

// Products of a stage. a, b: operands of its first tap and of the warpgroup's first position.
__device__ __forceinline__ void multiply_stage(unsigned a, unsigned b, int taps, Sums& sums) {
    [[maybe_unused]] float partial[RUNS][RUN_SUMS];
    if constexpr (!SPLIT) products_begin();
    // A loop costs the pipe of products a pause, and code its length.
    constexpr bool SAME = SAME_TAPS_H || APART, UNROLL = SAME && !SPLIT && STAGE_TAPS_H * KW * STEPS * RUNS <= 64;
    if constexpr (SAME) taps = STAGE_TAPS_H;
#pragma unroll(UNROLL ? STAGE_TAPS_H : 1)
    for (int j = 0; j < taps; ++j) {
#pragma unroll(SPLIT ? 1 : STEPS)
        for (int step = 0; step < STEPS; ++step) {
            const unsigned left = a + (j * KW * TAP_CELLS + step * (PARTS * 2 * BLOCK_ROWS));
            const unsigned right =
                b + ((taps - 1 - j) * (TAP_ROWS * IMAGES * TILE_W) + step * (2 * PLANE));
            static_for<0, SW>([&](auto rw) {
                if constexpr (Horizontal::used(rw)) {
                    constexpr int PHASE = decltype(rw)::value, SET = Horizontal::rank(PHASE);
                    constexpr int TAPS = Horizontal::taps(PHASE);
                    static_for<0, TAPS>([&](auto item) {
                        constexpr int I = decltype(item)::value, TAP = Horizontal::sorted(Horizontal::first(PHASE) + I);
                        constexpr int AT = Horizontal::offset(TAP) - FIRST_COLUMN;
                        static_for<0, RUNS>([&](auto run) {
                            const unsigned x = left + TAP * TAP_CELLS, y = right + AT + int(run) * (ROW_STEP * TILE_W);
                            if constexpr (SPLIT) {
                                // Tensor cores cut their sums off, and long ones drift: few products join the total at a
                                // time. The small ones first.
                                constexpr bool FIRST = I % plan::JOIN == 0;
                                if constexpr (FIRST && decltype(run)::value == 0) products_begin();
                                wgmma<Element, A_DOWN, B_DOWN>(partial[run], x + 2 * BLOCK_ROWS, y, FIRST ? 0 : 1);
                                wgmma<Element, A_DOWN, B_DOWN>(partial[run], x, y + CELLS, 1);
                                wgmma<Element, A_DOWN, B_DOWN>(partial[run], x, y, 1);
                            } else {
                                wgmma<Element, A_DOWN, B_DOWN>(sums[SET][run], x, y, 1);
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
