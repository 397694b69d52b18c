// arithmetic: integer arithmetic of tiles, and the vector that shared memory is read with.

template <class T>
__host__ __device__ constexpr T ceil_div(T a, T b) {
    return (a + b - 1) / b;
}
__host__ __device__ constexpr int round_up(int a, int b) { return ceil_div(a, b) * b; }

struct alignas(16) float4_t {
    float x, y, z, w;
};
