// AxisNumbers: the numbers of one field as they were written, before the number of axes is known.
#pragma once

#include "convt_jit/layer.h"

#include <initializer_list>
#include <optional>
#include <string>

namespace convt_jit {

struct AxisNumbers {
    Dims values;
    bool for_all_axes = false;  // one number that stands for every axis
    std::string written;        // how an error names it
};

// The number of axes that the first of `fields` with a number per axis tells.
[[nodiscard]] std::optional<int> told_rank(std::initializer_list<const std::optional<AxisNumbers>*> fields);

// One number per axis, `otherwise` on all axes where nothing was written. Throws LayerError for another rank.
[[nodiscard]] Dims spread(const std::optional<AxisNumbers>& numbers, int rank, std::int64_t otherwise);

}  // namespace convt_jit
