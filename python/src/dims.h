// Sizes between Python's lists and the library's Dims.
#pragma once

#include <convt_jit/layer.h>

#include <cstdint>
#include <vector>

namespace convt_jit::python {

inline Dims dims_of(const std::vector<std::int64_t>& sizes) {
    Dims dims = Dims::filled(static_cast<int>(sizes.size()), 0);
    for (int axis = 0; axis < dims.rank(); ++axis) dims[axis] = sizes[static_cast<std::size_t>(axis)];
    return dims;
}

inline std::vector<std::int64_t> list_of(const Dims& dims) { return {dims.begin(), dims.end()}; }

}  // namespace convt_jit::python
