// Wgmma: the wrapper of one shape of wgmma, whose assembly names every register of its sums.
#pragma once

#include <string>

namespace convt_jit {

// `columns`: a multiple of 8 up to 256.
[[nodiscard]] std::string render_wgmma(int columns);

}  // namespace convt_jit
