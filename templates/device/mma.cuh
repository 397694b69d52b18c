// Mma: matrix products of a warp (mma.sync, sm_80 and newer), and the words that they are fed with.
//
// A word is a tf32 number, or two 16-bit ones that are neighbours along the summed axis, the first in the low half. An
// mma sums over 8 words, so over 8 channels of tf32 or 16 of f16 and bf16. Lane l is member t = l % 4 of group g = l / 4:
//   a, 16 rows of 8 words:     (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)
//   b, 8 words of 8 columns:   (t, g), (t + 4, g)
//   sums, 16 rows, 8 columns:  (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)

// A number that mma may cut down to the 11 significant bits of tf32. It is moved away from zero by a third to two thirds
// of their last place, so that what is cut off is nothing on average, as when rounding to nearest; numbers that have no
// more bits stay what they are, and so do infinities and NaN (to which adding half a place to the bits would be fatal).
__device__ __forceinline__ unsigned tf32_word(float value) {
    return __float_as_uint(value * (1.0f + 0x1.555556p-12f));
}

// A number as the sum of two words of tf32, right to about 23 bits. The second is NaN where the number is not finite, or
// overflows when it is rounded.
__device__ __forceinline__ void tf32_words(float value, unsigned& high, unsigned& low) {
    high = (__float_as_uint(value) + 0x1000u) & 0xffffe000u;
    low = __float_as_uint(value - __uint_as_float(high));
}

// Two neighbours along the summed axis.
__device__ __forceinline__ unsigned word_of(unsigned short first, unsigned short second) {
    return unsigned(second) << 16 | first;
}

template <class T>
constexpr bool IS_F16 = false;
template <>
constexpr bool IS_F16<f16_t> = true;

#ifdef CONVT_SIM
template <class T>
__device__ inline double product_of_words(unsigned a, unsigned b) {
    if constexpr (sizeof(T) == 4) {
        return double(__uint_as_float(a & 0xffffe000u)) * double(__uint_as_float(b & 0xffffe000u));
    } else {
        const auto number = [](unsigned half) { return double(to_float(T{static_cast<unsigned short>(half)})); };
        return number(a & 0xffff) * number(b & 0xffff) + number(a >> 16) * number(b >> 16);
    }
}

// Tensor cores cut their sums off.
__device__ inline float cut_off(double sum) {
    const float near = float(sum);
    const bool away = fabs(double(near)) > fabs(sum) && fabs(double(near)) <= 0x1.fffffep127;
    return away ? __uint_as_float(__float_as_uint(near) - 1) : near;
}
#endif

// sums += a * b, by all lanes of a warp together. T: what the words are made of (float: tf32).
template <class T>
__device__ __forceinline__ void mma(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#ifdef CONVT_SIM
    const unsigned mine[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    const auto* const all = convt_sim::share_in_warp(mine);
    const int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
    for (int i = 0; i < 4; ++i) {
        const int column = 2 * member + i % 2;
        double sum = sums[i];
        for (int k = 0; k < 8; ++k)
            sum += product_of_words<T>(all[group * 4 + k % 4][i / 2 + k / 4 * 2], all[column * 4 + k % 4][4 + k / 4]);
        sums[i] = cut_off(sum);
    }
#else
#define CONVT_MMA(SHAPE_AND_TYPES)                                                                              \
    asm("mma.sync.aligned." SHAPE_AND_TYPES " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                            \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
    if constexpr (sizeof(T) == 4)
        CONVT_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
    else if constexpr (IS_F16<T>)
        CONVT_MMA("m16n8k16.row.col.f32.f16.f16.f32");
    else
        CONVT_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
#undef CONVT_MMA
#endif
}
