// The texts of calls.h and shim.h, which stand before a kernel's source when the host's compiler gets it.
#pragma once

#include <string_view>

namespace convt_jit::sim {

extern const std::string_view kCallsText;
extern const std::string_view kShimText;

}  // namespace convt_jit::sim
