// CompareArgs: what the kernels of comparison.cu and the host know of each other. Included here and put before the
// kernels' source, so it needs nothing from the standard library.
#pragma once

namespace convt_comparison {

struct Sums {
    double difference2, want2, max_abs;
    long long worst, wrong;
};
struct CompareArgs {
    const void* got;
    const double* want;
    Sums* sums;  // one for each thread of the first kernel
    Sums* left;  // one for each thread of the second
    long long elements;
    double largest, near_largest, smallest_normal, step;
    int dtype;  // as convt_jit::DType
};

}  // namespace convt_comparison
