// implicit_gemm: products.

// One tap and step: the sums of a warp.
__device__ __forceinline__ void multiply_step(const unsigned* input, const unsigned* weights,
                                              float (&sums)[WARP_M][WARP_N][4]) {
    unsigned a[WARP_M][4], b[WARP_N][2];
    [[maybe_unused]] unsigned a_low[WARP_M][4], b_low[WARP_N][2];
    const auto convert = [](unsigned word, unsigned& high, unsigned& low) {
        if constexpr (SPLIT_FACTORS)
            tf32_words(__uint_as_float(word), high, low);
        else
            high = NARROW ? word : tf32_word(__uint_as_float(word));
    };
#pragma unroll
    for (int m = 0; m < WARP_M; ++m) {
        const Vector<unsigned, 4> words = *reinterpret_cast<const Vector<unsigned, 4>*>(weights + m * 128);
#pragma unroll
        for (int i = 0; i < 4; ++i) convert(words[i], a[m][i], a_low[m][i]);
    }
#pragma unroll
    for (int n = 0; n < WARP_N; ++n) {
        const unsigned* const from = input + (WARP_N % ROW_TILES == 0 ? n / ROW_TILES * TILE_W + n % ROW_TILES * 8 : n * 8);
#pragma unroll
        for (int i = 0; i < 2; ++i) convert(from[i * 4 * PLANE], b[n][i], b_low[n][i]);
    }
    const auto all = [&](const auto& left, const auto& right) {
#pragma unroll
        for (int n = 0; n < WARP_N; ++n)
#pragma unroll
            for (int m = 0; m < WARP_M; ++m) mma<Element>(sums[m][n], left[m], right[n]);
    };
    if constexpr (SPLIT_FACTORS) {  // the small ones first
        all(a_low, b);
        all(a, b_low);
    }
    all(a, b);
}

__device__ __forceinline__ void join(float (&partial)[WARP_M][WARP_N][4], float (&total)[WARP_M][WARP_N][4]) {
#pragma unroll
    for (int m = 0; m < WARP_M; ++m)
#pragma unroll
        for (int n = 0; n < WARP_N; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                total[m][n][i] += partial[m][n][i];
                partial[m][n][i] = 0.0f;
            }
}

// Products of one staged chunk. `input` and `weights` are where this lane begins. Column taps are unrolled; of the rest as
// much as the compiler bears without loading ahead more than registers hold.
__device__ __forceinline__ void multiply_chunk(const unsigned* input, const unsigned* weights, int taps,
                                               float (&sums)[COLUMN_SETS][WARP_M][WARP_N][4]) {
    constexpr int PRODUCTS = KW * WARP_M * WARP_N * (SPLIT_FACTORS ? 3 : 1);
#pragma unroll 1
    for (int j = 0; j < taps; ++j) {
#pragma unroll(PRODUCTS <= 32 ? 2 : 1)
        for (int step = 0; step < STEPS; ++step) {
            const unsigned* const row = input + (taps - 1 - j) * (layer::OFFSET_STEP_H * TILE_W) + step * (8 * PLANE);
            const unsigned* const factors = weights + j * (KW * TAP_WORDS) + step * (M_TILES * 128);
            static_for<0, SW>([&](auto rw) {
                if constexpr (Horizontal::used(rw)) {
                    constexpr int PHASE = decltype(rw)::value, SET = Horizontal::rank(PHASE);
                    constexpr int TAPS = Horizontal::taps(PHASE);
                    [[maybe_unused]] float partial[WARP_M][WARP_N][4] = {};
                    static_for<0, TAPS>([&](auto item) {
                        constexpr int I = decltype(item)::value, TAP = Horizontal::sorted(Horizontal::first(PHASE) + I);
                        constexpr int AT = Horizontal::offset(TAP) - FIRST_COLUMN;
                        if constexpr (plan::JOIN == 0) {
                            multiply_step(row + AT, factors + TAP * TAP_WORDS, sums[SET]);
                        } else {
                            // Tensor cores cut their sums off, and long ones drift: few products join the total at a time.
                            multiply_step(row + AT, factors + TAP * TAP_WORDS, partial);
                            if constexpr ((I + 1) % plan::JOIN == 0 || I + 1 == TAPS) join(partial, sums[SET]);
                        }
                    });
                }
            });
        }
    }
}
