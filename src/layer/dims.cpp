#include "convt_jit/error.h"
#include "convt_jit/layer.h"

#include <algorithm>
#include <string>

namespace convt_jit {

Dims::Dims(std::initializer_list<std::int64_t> values) : rank_(static_cast<int>(values.size())) {
    if (values.size() > kMax) throw LayerError("dims", std::to_string(values.size()) + " values", "at most 3 values");
    std::copy(values.begin(), values.end(), values_.begin());
}

Dims Dims::filled(int rank, std::int64_t value) {
    if (rank < 0 || rank > kMax) throw LayerError("rank", std::to_string(rank), "0 to 3");
    Dims dims;
    dims.rank_ = rank;
    std::fill_n(dims.values_.begin(), rank, value);
    return dims;
}

std::string to_string(const Dims& dims) {
    std::string text;
    for (const std::int64_t value : dims) {
        if (!text.empty()) text += 'x';
        text += std::to_string(value);
    }
    return text;
}

}  // namespace convt_jit
