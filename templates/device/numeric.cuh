// Numeric: the element types of tensors, 16-bit conversions without the toolkit's headers, vectors of elements.
// Needs from the prologue: namespace layer { constexpr int DTYPE; }, in the order of convt_jit::DType.

struct f16_t {
    unsigned short bits;
};
struct bf16_t {
    unsigned short bits;
};

template <int DTYPE>
struct ElementOf;
template <>
struct ElementOf<0> {
    using type = float;
};
template <>
struct ElementOf<1> {
    using type = f16_t;
};
template <>
struct ElementOf<2> {
    using type = bf16_t;
};
// What x, w, bias, residual and y are made of.
using Element = typename ElementOf<layer::DTYPE>::type;

// Up to 16 bytes of elements that one access moves.
template <class T, int COUNT>
struct alignas(sizeof(T) * COUNT) Vector {
    T at[COUNT];
    __device__ __forceinline__ T& operator[](int i) { return at[i]; }
    __device__ __forceinline__ const T& operator[](int i) const { return at[i]; }
};

// A product that is rounded by itself, whatever is added to it: the compiler must not fuse it in one place and not in
// another, or the same value would come out different.
__device__ __forceinline__ float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double multiply(double a, double b) { return __dmul_rn(a, b); }

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(bf16_t value) { return __uint_as_float(unsigned(value.bits) << 16); }
__device__ __forceinline__ float to_float(f16_t value) {
#ifdef CONVT_SIM
    const unsigned sign = unsigned(value.bits & 0x8000) << 16;
    const unsigned magnitude = value.bits & 0x7fff;
    if (magnitude >= 0x7c00) return __uint_as_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude >= 0x400) return __uint_as_float(sign | ((magnitude << 13) + ((127 - 15) << 23)));
    // Subnormal: a multiple of 2^-24, which a float holds exactly.
    return __uint_as_float(sign | __float_as_uint(float(magnitude) * 0x1p-24f));
#else
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
    return result;
#endif
}

// from_float<T>: rounds to nearest, ties to even; too large becomes infinity; NaN becomes 0x7fff, as the hardware has
// it.
template <class T>
__device__ __forceinline__ T from_float(float value);

template <>
__device__ __forceinline__ float from_float<float>(float value) {
    return value;
}

template <>
__device__ __forceinline__ f16_t from_float<f16_t>(float value) {
    f16_t result;
#ifdef CONVT_SIM
    const unsigned sign = __float_as_uint(value) >> 16 & 0x8000;
    const unsigned magnitude = __float_as_uint(value) & 0x7fffffff;
    unsigned bits;
    if (magnitude > 0x7f800000) return f16_t{0x7fff};
    if (magnitude >= 0x477ff000) {  // 65520, half way between the largest number and the next power of two
        bits = 0x7c00;
    } else if (magnitude >= 0x38800000) {  // 2^-14, the smallest normal number
        bits = (magnitude - ((127 - 15) << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    } else {
        // A multiple of 2^-24: adding 0.5 makes that the last place of the sum, and the addition rounds as wanted.
        bits = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000;
    }
    result.bits = static_cast<unsigned short>(sign | bits);
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
#endif
    return result;
}

template <>
__device__ __forceinline__ bf16_t from_float<bf16_t>(float value) {
    bf16_t result;
#if !defined(CONVT_SIM) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
#else
    const unsigned bits = __float_as_uint(value);
    const bool nan = (bits & 0x7fffffff) > 0x7f800000;
    result.bits = static_cast<unsigned short>(nan ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
#endif
    return result;
}
