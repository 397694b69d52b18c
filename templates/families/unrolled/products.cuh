// unrolled: products.

// Products of one staged chunk for one channel vector and the row phase RH (all row phases when they are together).
template <int RH>
__device__ __forceinline__ void accumulate(const Element* input, const float* weights, int share,
                                           float (&sums)[ROW_SETS][COLUMN_SETS][CHANNELS][ROWS][COLUMNS]) {
    constexpr int ROW_LOW = SPLIT ? Vertical::low(RH) : Vertical::low();
    constexpr int ROW_HIGH = SPLIT ? Vertical::high(RH) : Vertical::high();
    constexpr int WINDOW_H = ROWS + ROW_HIGH - ROW_LOW, WINDOW_W = COLUMNS + Horizontal::high() - Horizontal::low();
    constexpr int TAPS = (SPLIT ? Vertical::taps(RH) : KH) * KW, FIRST_TAP = SPLIT ? Vertical::first(RH) * KW : 0;
    constexpr int FACTORS = TAPS * CHANNELS;
    constexpr int SKIP = Horizontal::low() - FIRST_COLUMN;  // columns before the first that is needed
    constexpr int WIDE = widest(COLUMNS, 16 / int(sizeof(Element)) < 4 ? 16 / int(sizeof(Element)) : 4);
#pragma unroll(plan::UNROLL)
    for (int c = share; c < plan::CHUNK; c += plan::REDUCTION_THREADS) {
        float window[WINDOW_H][WINDOW_W];
#pragma unroll
        for (int r = 0; r < WINDOW_H; ++r) {
            const Element* const from = input + (c * TILE_H + r + ROW_LOW - Vertical::low()) * TILE_W;
            static_for<0, ceil_div(SKIP + WINDOW_W, WIDE)>([&](auto k) {
                constexpr int B = k * WIDE;
                if constexpr (B >= SKIP && B + WIDE <= SKIP + WINDOW_W) {
                    const Vector<Element, WIDE> v = *reinterpret_cast<const Vector<Element, WIDE>*>(from + B);
#pragma unroll
                    for (int e = 0; e < WIDE; ++e) window[r][B - SKIP + e] = to_float(v[e]);
                } else if constexpr (B + WIDE > SKIP) {
                    static_for<0, WIDE>([&](auto e) {
                        if constexpr (B + e >= SKIP && B + e < SKIP + WINDOW_W)
                            window[r][B + e - SKIP] = to_float(from[B + e]);
                    });
                }
            });
        }
        const float* const factors = weights + c * WEIGHT_PITCH + (SPLIT ? weight_base(RH) : 0);
        static_for<0, ceil_div(FACTORS, 4)>([&](auto i) {
            float four[4];
            load_shared(four, factors + 4 * i);
            static_for<0, 4>([&](auto j) {
                constexpr int E = 4 * decltype(i)::value + j;
                if constexpr (E < FACTORS) {
                    constexpr int TAP = FIRST_TAP + E / CHANNELS, O = E % CHANNELS;
                    constexpr int TAP_H = SPLIT ? Vertical::sorted(TAP / KW) : TAP / KW, TAP_W = TAP % KW;
                    constexpr int A = SPLIT ? 0 : Vertical::rank(Vertical::phase(TAP_H));
                    constexpr int B = Horizontal::rank(Horizontal::phase(TAP_W));
                    constexpr int DH = Vertical::offset(TAP_H) - ROW_LOW, DW = Horizontal::offset(TAP_W) - Horizontal::low();
#pragma unroll
                    for (int r = 0; r < ROWS; ++r)
#pragma unroll
                        for (int w = 0; w < COLUMNS; ++w)
                            sums[A][B][O][r][w] = fmaf(window[r + DH][w + DW], four[j], sums[A][B][O][r][w]);
                }
            });
        });
    }
}
