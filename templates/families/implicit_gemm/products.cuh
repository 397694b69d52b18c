// implicit_gemm: products.

// Words of a lane as mma takes them: as they are, cut to tf32, or as the sum of two.
template <int COUNT, int WORDS>
struct Fragments {
    unsigned high[COUNT][WORDS];
    unsigned low[COUNT][WORDS];  // where factors are split
    __device__ __forceinline__ void put(int i, int word, unsigned value) {
        if constexpr (SPLIT_FACTORS)
            tf32_words(__uint_as_float(value), high[i][word], low[i][word]);
        else
            high[i][word] = NARROW ? value : tf32_word(__uint_as_float(value));
    }
};
using Weights = Fragments<WARP_M, 4>;  // of one tap and step

__device__ __forceinline__ void read_weights(const unsigned* from, Weights& a) {
#pragma unroll
    for (int m = 0; m < WARP_M; ++m) {
        const Vector<unsigned, 4> words = *reinterpret_cast<const Vector<unsigned, 4>*>(from + m * 128);
#pragma unroll
        for (int i = 0; i < 4; ++i) a.put(m, i, words[i]);
    }
}
// Rows of positions, WARP_COLUMNS times 8 each. SECOND: how far words 4 to 7 lie from words 0 to 3; zeros where it is NOWHERE.
constexpr int NOWHERE = 1 << 30;
template <int ROWS, int SECOND>
__device__ __forceinline__ void read_inputs(const unsigned* from, Fragments<ROWS * WARP_COLUMNS, 2>& b) {
#pragma unroll
    for (int n = 0; n < ROWS * WARP_COLUMNS; ++n) {
        const unsigned* const word = from + n / WARP_COLUMNS * TILE_W + n % WARP_COLUMNS * 8;
        b.put(n, 0, word[0]);
        b.put(n, 1, SECOND == NOWHERE ? 0 : word[SECOND == NOWHERE ? 0 : SECOND]);
    }
}

using Sums = float[WARP_M][WARP_N][4];  // of one column phase

// Adds the products of rows from `row` on, the small ones first. (Here and below, what is given is known when compiling,
// once loops are unrolled.)
template <int COUNT>
__device__ __forceinline__ void add_products(const Weights& a, const Fragments<COUNT, 2>& b, int row, Sums& sums) {
    const auto all = [&](const auto& left, const auto& right) {
#pragma unroll
        for (int n = 0; n < COUNT; ++n)
#pragma unroll
            for (int m = 0; m < WARP_M; ++m) mma<Element>(sums[m][row * WARP_COLUMNS + n], left[m], right[n]);
    };
    if constexpr (SPLIT_FACTORS) {
        all(a.low, b.high);
        all(a.high, b.low);
    }
    all(a.high, b.high);
}

__device__ __forceinline__ void join(int row, int rows, Sums& partial, Sums& total) {
#pragma unroll
    for (int m = 0; m < WARP_M; ++m)
#pragma unroll
        for (int n = row * WARP_COLUMNS; n < (row + rows) * WARP_COLUMNS; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                total[m][n][i] += partial[m][n][i];
                partial[m][n][i] = 0.0f;
            }
}

// One step of a column tap and a row tap. `after` is called with the first of the rows whose sums have grown, their
// number, and the number of row taps that they had before.
template <int SECOND, class After>
__device__ __forceinline__ void multiply_tap(const unsigned* input, const unsigned* weights, Sums& sums,
                                             const After& after) {
    Weights a;
    Fragments<WARP_N, 2> b;
    read_weights(weights, a);
    read_inputs<WARP_ROWS, SECOND>(input, b);
    add_products(a, b, 0, sums);
    after(0, WARP_ROWS, 0);
}
// Of a column tap and all row taps: what is read of an input row serves all of them.
template <int SECOND, class After>
__device__ __forceinline__ void multiply_taps(const unsigned* input, const unsigned* weights, Sums& sums,
                                              const After& after) {
    Weights a[TAPS_H];
#pragma unroll
    for (int j = 0; j < TAPS_H; ++j) read_weights(weights + j * (SLOTS * TAP_WORDS), a[j]);
#pragma unroll
    for (int input_row = 0; input_row < WARP_ROWS + (TAPS_H - 1) * layer::OFFSET_STEP_H; ++input_row) {
        Fragments<WARP_COLUMNS, 2> b;
        read_inputs<1, SECOND>(input + input_row * TILE_W, b);
#pragma unroll
        for (int before = 0; before < TAPS_H; ++before) {  // an output row meets its last tap first
            const int row = input_row - before * layer::OFFSET_STEP_H;
            if (row < 0 || row >= WARP_ROWS) continue;
            add_products(a[TAPS_H - 1 - before], b, row, sums);
            after(row, 1, before);
        }
    }
}

// Products of one staged chunk. `input` and `weights` are where this lane begins. Column taps are unrolled; of the rest as
// much as the compiler bears without loading ahead more than registers hold.
__device__ __forceinline__ void multiply_chunk(const unsigned* input, const unsigned* weights, int taps,
                                               float (&sums)[COLUMN_SETS][WARP_M][WARP_N][4]) {
    constexpr int TOGETHER = SHARES_ROWS ? TAPS_H : 1;  // row taps
    constexpr int PRODUCTS = SLOTS * TOGETHER * WARP_M * WARP_N * (SPLIT_FACTORS ? 3 : 1);
#pragma unroll 1
    for (int j = 0; j < (SHARES_ROWS ? 1 : taps); ++j) {
#pragma unroll(PRODUCTS <= 32 ? 2 : 1)
        for (int step = 0; step < STEPS; ++step) {
            const int lowest = SHARES_ROWS ? 0 : taps - 1 - j;
            const unsigned* const row = input + lowest * (layer::OFFSET_STEP_H * TILE_W) + step * (8 * PLANE);
            const unsigned* const factors = weights + j * (SLOTS * TAP_WORDS) + step * (M_TILES * 128);
            static_for<0, SW>([&](auto rw) {
                if constexpr (Horizontal::used(rw)) {
                    constexpr int PHASE = decltype(rw)::value, SET = Horizontal::rank(PHASE);
                    constexpr int TAPS = Horizontal::taps(PHASE), PHASE_SLOTS = PAIRED ? ceil_div(TAPS, 2) : TAPS;
                    [[maybe_unused]] Sums partial = {};
                    static_for<0, PHASE_SLOTS>([&](auto item) {
                        constexpr int I = decltype(item)::value, FIRST = Horizontal::first(PHASE) + (PAIRED ? 2 * I : I);
                        constexpr int TAP = Horizontal::sorted(FIRST), SLOT = PAIRED ? slots_before(PHASE) + I : TAP;
                        constexpr int AT = Horizontal::offset(TAP) - FIRST_COLUMN;
                        constexpr int SECOND = !PAIRED            ? 4 * PLANE
                                               : 2 * I + 1 < TAPS ? Horizontal::offset(Horizontal::sorted(FIRST + 1)) -
                                                                        Horizontal::offset(TAP)
                                                                  : NOWHERE;
                        // Tensor cores cut their sums off, and long ones drift: few products join the total at a time.
                        const auto joins = [&](int first, int rows, int before) {
                            if constexpr (plan::JOIN > 0) {
                                const int done = I * TOGETHER + before + 1;
                                if (done % plan::JOIN == 0 || done == PHASE_SLOTS * TOGETHER)
                                    join(first, rows, partial, sums[SET]);
                            }
                        };
                        Sums& own = plan::JOIN == 0 ? sums[SET] : partial;
                        if constexpr (SHARES_ROWS)
                            multiply_taps<SECOND>(row + AT, factors + SLOT * TAP_WORDS, own, joins);
                        else
                            multiply_tap<SECOND>(row + AT, factors + SLOT * TAP_WORDS, own, joins);
                    });
                }
            });
        }
    }
}
