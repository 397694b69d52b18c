// Fold, of `implicit_gemm`: neighbouring outputs of a channel as channels of their own. Pure functions.
//
// Of a row of outputs each C neighbours o = C*o' + j - skew, j < C, may be taken for C channels of one output o'. Where
// C divides the stride S, and the dilation is 1, that is a transposed convolution again: taps k = C*k' + j of stride
// S/C, kernel ceil(K/C) and padding floor(P/C), where skew is P % C. A tap beyond K has a weight of zero.
#pragma once

#include "plan/volume.h"

#include <array>
#include <string>

namespace convt_jit {

// Outputs that are taken together along height and width.
using Fold = std::array<int, 2>;

// Empty where the layer can be folded so.
[[nodiscard]] std::string fold_refusal(const std::array<AxisParameters, 3>& axes, const Fold& fold);

// One axis, folded by a divisor of its stride; what its end of the padding and its output padding become is not said.
[[nodiscard]] AxisParameters folded(const AxisParameters& axis, int fold);
// Outputs of the first o' that lie before the row.
[[nodiscard]] std::int64_t skew(const AxisParameters& axis, int fold);

}  // namespace convt_jit
