// Shim: the CUDA built-ins that a kernel's source may use, for the host's compiler. Put before that source, after
// calls.h; no file of the library includes it. Static shared variables are left out on purpose: kernels use
// shared_memory(), which is poisoned and guarded.

#define __device__
#define __host__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) alignas(n)

#define threadIdx (::convt_sim::state.thread)
#define blockIdx (::convt_sim::state.block)
#define blockDim (::convt_sim::state.block_size)
#define gridDim (::convt_sim::state.grid)

namespace convt_sim {

static State state;

__forceinline__ bool lies_in(const Span& span, Size address, Size bytes) {
    const Size offset = address - span.begin;
    return (offset < span.bytes) & (span.bytes - offset >= bytes) & ((address & (bytes - 1)) == 0);
}
__forceinline__ void check_read(const void* address, Size bytes) {
    if (!lies_in(state.last_read, Size(address), bytes)) state.find(address, bytes, false);
}
__forceinline__ void check_write(const void* address, Size bytes) {
    if (!lies_in(state.last_written, Size(address), bytes)) state.find(address, bytes, true);
}
inline void copy_async(void* shared, const void* global, Size bytes, bool inside) {
    state.copy_async(shared, global, bytes, inside);
}
inline void copy_async_commit() { state.copy_async_commit(); }
inline void copy_async_wait(int newest) { state.copy_async_wait(newest); }
inline void barrier_init(unsigned barrier, int arrivals) { state.barrier_init(barrier, arrivals); }
inline void barrier_arrive(unsigned barrier, unsigned bytes) { state.barrier_arrive(barrier, bytes); }
inline void barrier_wait(unsigned barrier, unsigned parity, const char* file = __builtin_FILE(),
                         int line = __builtin_LINE()) {
    state.barrier_wait(barrier, parity, file, line);
}
inline void copy_bulk(unsigned shared, const void* global, unsigned bytes, unsigned barrier) {
    state.copy_bulk(shared, global, bytes, barrier);
}
inline void multiply(const Product& product) { state.multiply(product); }
inline void products_commit() { state.products_commit(); }
inline void products_wait(int newest) { state.products_wait(newest); }

}  // namespace convt_sim

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    convt_sim::state.block_barrier(file, line);
}
inline void __syncwarp(unsigned mask = 0xffffffff, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    convt_sim::state.warp_barrier(mask, file, line);
}
inline void __trap(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    convt_sim::state.trap(file, line);
}

namespace convt_sim {

// What the lanes of a warp show each other: each its words, and sees those of all. Two tables take turns, so that no
// lane writes again before all have read.
template <int WORDS>
const unsigned (*share_in_warp(const unsigned (&mine)[WORDS], const char* file = __builtin_FILE(),
                               int line = __builtin_LINE()))[WORDS] {
    static unsigned tables[32][2][32][WORDS];
    const unsigned thread = state.thread.x;
    auto& table = tables[thread / 32][state.warp_turn[thread]];
    state.warp_turn[thread] = !state.warp_turn[thread];
    for (int i = 0; i < WORDS; ++i) table[thread % 32][i] = mine[i];
    state.warp_barrier(0xffffffff, file, line);
    return table;
}

}  // namespace convt_sim

extern "C" {
float fmaf(float, float, float);
float expf(float);
float tanhf(float);
float erfcf(float);
float fminf(float, float);
float fmaxf(float, float);
double fma(double, double, double);
double exp(double);
double log(double);
double tanh(double);
double erf(double);
double erfc(double);
double sqrt(double);
double fabs(double);
double floor(double);
int printf(const char*, ...);
}

inline unsigned __float_as_uint(float value) {
    unsigned bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float __uint_as_float(unsigned bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
// Of all lanes of a warp, for no other mask.
template <class T>
T __shfl_sync(unsigned, T value, int lane, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    static_assert(sizeof(T) == 4, "one word");
    unsigned mine[1];
    __builtin_memcpy(mine, &value, sizeof value);
    __builtin_memcpy(&value, convt_sim::share_in_warp(mine, file, line)[lane % 32], sizeof value);
    return value;
}
inline int __any_sync(unsigned, int predicate, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const unsigned mine[1] = {predicate != 0};
    const auto* const all = convt_sim::share_in_warp(mine, file, line);
    unsigned any = 0;
    for (int lane = 0; lane < 32; ++lane) any |= all[lane][0];
    return any != 0;
}

inline float __fmul_rn(float a, float b) { return a * b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const unsigned long long bytes = (unsigned long long)b << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) result |= unsigned(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
}

#define CONVT_SIM_MIN_MAX(T)                                   \
    inline constexpr T min(T a, T b) { return b < a ? b : a; } \
    inline constexpr T max(T a, T b) { return a < b ? b : a; }
CONVT_SIM_MIN_MAX(int)
CONVT_SIM_MIN_MAX(unsigned)
CONVT_SIM_MIN_MAX(long long)
CONVT_SIM_MIN_MAX(unsigned long long)
#undef CONVT_SIM_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
