// Axis: which taps of an axis feed which phase, as constants, and which outputs taps reach from inside the image.
// Needs from the prologue: namespace layer { KERNEL, STRIDE, PAD, DILATION of height and width; }.

using index_t = plan::index_t;
using count_t = decltype(sizeof(index_t) == 8 ? 0ull : 0u);

template <int V>
struct Int {
    static constexpr int value = V;
    __host__ __device__ constexpr operator int() const { return V; }
};
template <int FIRST, int END, class F>
__device__ __forceinline__ void static_for(F&& f) {
    if constexpr (FIRST < END) {
        f(Int<FIRST>{});
        static_for<FIRST + 1, END>(f);
    }
}
__host__ __device__ constexpr int modulo(int a, int s) { return ((a % s) + s) % s; }
__host__ __device__ constexpr int floor_to(int a, int m) { return a - modulo(a, m); }
__host__ __device__ constexpr int floor_power_of_two(int a) {
    int p = 1;
    while (2 * p <= a) p *= 2;
    return p;
}
__host__ __device__ constexpr int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }
__host__ __device__ constexpr int largest_divisor(int n, int most) {
    int d = n < most ? n : most;
    while (n % d != 0) --d;
    return d;
}
__host__ __device__ constexpr int widest(int n, int most) {  // the largest power of two up to `most` that divides n
    int v = most;
    while (n % v != 0) v /= 2;
    return v;
}

template <int K, int S, int P, int D>
struct Axis {
    static constexpr int STRIDE = S;
    __host__ __device__ static constexpr int phase(int k) { return modulo(k * D - P, S); }
    __host__ __device__ static constexpr int offset(int k) { return (phase(k) + P - k * D) / S; }
    __host__ __device__ static constexpr int taps(int r) {
        int n = 0;
        for (int k = 0; k < K; ++k) n += phase(k) == r;
        return n;
    }
    __host__ __device__ static constexpr bool used(int r) { return taps(r) > 0; }
    __host__ __device__ static constexpr int rank(int r) {  // among the used phases
        int n = 0;
        for (int q = 0; q < r; ++q) n += used(q);
        return n;
    }
    __host__ __device__ static constexpr int used() { return rank(S); }
    __host__ __device__ static constexpr int low() { return offset(K - 1); }
    __host__ __device__ static constexpr int high() { return offset(0); }
    // Positions that taps of every used phase reach are -least_high() to size-1-most_low(), where a step between two
    // taps of a phase does not jump over the image.
    __host__ __device__ static constexpr int least_high() {
        int m = 1 << 20;
        for (int r = 0; r < S; ++r)
            if (used(r) && high(r) < m) m = high(r);
        return m;
    }
    __host__ __device__ static constexpr int most_low() {
        int m = -(1 << 20);
        for (int r = 0; r < S; ++r)
            if (used(r) && low(r) > m) m = low(r);
        return m;
    }
    __host__ __device__ static constexpr int low(int r) {
        int m = 1 << 20;
        for (int k = 0; k < K; ++k)
            if (phase(k) == r && offset(k) < m) m = offset(k);
        return m;
    }
    __host__ __device__ static constexpr int high(int r) {
        int m = -(1 << 20);
        for (int k = 0; k < K; ++k)
            if (phase(k) == r && offset(k) > m) m = offset(k);
        return m;
    }
    // Taps sorted by (phase, tap).
    __host__ __device__ static constexpr int first(int r) {
        int n = 0;
        for (int q = 0; q < r; ++q) n += taps(q);
        return n;
    }
    __host__ __device__ static constexpr int sorted(int j) {
        for (int r = 0; r < S; ++r)
            for (int k = 0; k < K; ++k)
                if (phase(k) == r && j-- == 0) return k;
        return -1;
    }
    __host__ __device__ static constexpr int place(int k) {
        int n = first(phase(k));
        for (int q = 0; q < k; ++q) n += phase(q) == phase(k);
        return n;
    }
};
using Vertical = Axis<layer::KERNEL_H, layer::STRIDE_H, layer::PAD_H, layer::DILATION_H>;
using Horizontal = Axis<layer::KERNEL_W, layer::STRIDE_W, layer::PAD_W, layer::DILATION_W>;
constexpr int KH = layer::KERNEL_H, KW = layer::KERNEL_W, SH = layer::STRIDE_H, SW = layer::STRIDE_W;

// Whether a tap of phase R reaches position q from inside the image. (No bit masks here: ptxas 13.0 makes wrong logic of
// selects that are or-ed and compared with zero.)
template <class A, int R>
__device__ __forceinline__ bool reached(int q, index_t size) {
    bool any = false;
    static_for<0, A::taps(R)>([&](auto j) {
        constexpr int OFFSET = A::offset(A::sorted(A::first(R) + j));
        any = any | (count_t(index_t(q + OFFSET)) < count_t(size));  // a negative position is a very large one
    });
    return any;
}

// Whether taps of every phase reach all of `count` positions from q on that are in the output; true more seldom than it
// might be.
template <class A, int OFFSET_STEP>
__device__ __forceinline__ bool all_reached(int q, int count, index_t size, index_t out_size) {
    const index_t last = min(index_t(q + count - 1), (out_size - 1) / A::STRIDE);
    return size >= OFFSET_STEP && q >= -A::least_high() && last < size - A::most_low();
}
