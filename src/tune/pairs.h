// Pairs: what launches that alternated say about two kernels.
#pragma once

#include <vector>

namespace convt_jit {

// Of a list that is not empty.
[[nodiscard]] double median(std::vector<double> values);
// Distance between the quartiles over the median.
[[nodiscard]] double spread(std::vector<double> values);

// log(ms / against_ms): negative where the first is faster.
struct Comparison {
    double log_ratio = 0;  // median over the pairs
    double noise = 0;      // standard error of that median
};
// Of the pairs that both lists have; at least one.
[[nodiscard]] Comparison compare_pairs(const std::vector<double>& ms, const std::vector<double>& against_ms);

}  // namespace convt_jit
