// Shipped: the records that came with the library, as text.
#pragma once

#include <map>
#include <string_view>

namespace convt_jit {

// By file name.
[[nodiscard]] const std::map<std::string_view, std::string_view>& shipped_records();

}  // namespace convt_jit
