// Places: where this process looks for NVRTC.
#pragma once

#include "compile/search.h"

#include <string>

namespace convt_jit {

// From the environment, the program and libconvt_jit.
[[nodiscard]] SearchPlaces search_places();
// The file of the loaded library or program that holds `address`; "" where there is none.
[[nodiscard]] std::string loaded_file(const void* address);

}  // namespace convt_jit
