// Compares elements of a dtype with f64: each thread a sum of its own, in an order that never changes; then one block
// adds those up. The definition of right and wrong is that of compare() on the host.

using convt_comparison::CompareArgs;
using convt_comparison::Sums;

__device__ __forceinline__ double infinity() { return __uint_as_float(0x7f800000u); }
__device__ __forceinline__ double size_of_number(double a) { return a < 0 ? -a : a; }
__device__ __forceinline__ bool is_finite(double a) { return a - a == 0; }

__device__ __forceinline__ double from_half(unsigned bits) {
    const unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float sign = bits >> 15 != 0 ? -1.0f : 1.0f;
    if (exponent == 0) return sign * static_cast<float>(fraction) * 5.9604644775390625e-08f;
    return sign * __uint_as_float((exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13);
}

__device__ __forceinline__ double element(const CompareArgs& args, long long at) {
    if (args.dtype == 0) return static_cast<const float*>(args.got)[at];
    const unsigned bits = static_cast<const unsigned short*>(args.got)[at];
    if (args.dtype == 1) return from_half(bits);
    return __uint_as_float(bits << 16);
}

__device__ __forceinline__ void note(Sums& sums, double difference, long long at) {
    if (sums.worst >= 0 && (difference < sums.max_abs || (difference == sums.max_abs && at > sums.worst))) return;
    sums.max_abs = difference;
    sums.worst = at;
}

__device__ __forceinline__ void add(Sums& sums, const CompareArgs& args, long long at) {
    const double got = element(args, at), want = args.want[at];
    const double size = is_finite(want) ? size_of_number(want) : 0;
    if (is_finite(got) && is_finite(want) && size <= args.largest * args.near_largest) {
        const double difference = size_of_number(got - want);
        double error = difference;
        if (size < args.smallest_normal) error = difference > args.step ? difference - args.step : 0;
        sums.difference2 += error * error;
        sums.want2 += want * want;
        if (difference > 0) note(sums, difference, at);
    } else if (size > args.largest / args.near_largest && got == (want < 0 ? -infinity() : infinity())) {
        return;
    } else if (!((got != got && want != want) || got == want)) {
        ++sums.wrong;
        note(sums, infinity(), at);
    }
}

extern "C" __global__ void convt_compare(const __grid_constant__ CompareArgs args) {
    const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
    const long long thread = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    Sums sums{0, 0, 0, -1, 0};
    for (long long at = thread; at < args.elements; at += threads) add(sums, args, at);
    args.sums[thread] = sums;
}

// One block; `elements`: of sums.
extern "C" __global__ void convt_compare_sum(const __grid_constant__ CompareArgs args) {
    Sums sums = args.sums[threadIdx.x];
    for (long long at = threadIdx.x + blockDim.x; at < args.elements; at += blockDim.x) {
        const Sums other = args.sums[at];
        sums.difference2 += other.difference2;
        sums.want2 += other.want2;
        sums.wrong += other.wrong;
        if (other.worst >= 0) note(sums, other.max_abs, other.worst);
    }
    args.left[threadIdx.x] = sums;
}
