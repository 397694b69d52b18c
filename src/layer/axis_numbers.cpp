#include "layer/axis_numbers.h"

#include "convt_jit/error.h"

#include <fmt/format.h>

namespace convt_jit {

std::optional<int> told_rank(std::initializer_list<const std::optional<AxisNumbers>*> fields) {
    for (const auto* numbers : fields)
        if (*numbers && !(*numbers)->for_all_axes) return (*numbers)->values.rank();
    return std::nullopt;
}

Dims spread(const std::optional<AxisNumbers>& numbers, int rank, std::int64_t otherwise) {
    if (!numbers) return Dims::filled(rank, otherwise);
    if (numbers->for_all_axes) return Dims::filled(rank, numbers->values[0]);
    if (numbers->values.rank() != rank)
        throw LayerError(numbers->written,
                         fmt::format("{} values for {} spatial dimensions", numbers->values.rank(), rank),
                         rank == 1 ? "1 value" : fmt::format("1 or {} values", rank));
    return numbers->values;
}

}  // namespace convt_jit
