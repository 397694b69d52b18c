// The source of comparison.cu, by its name.
#pragma once

#include <map>
#include <string_view>

namespace convt_jit {

[[nodiscard]] const std::map<std::string_view, std::string_view>& comparison_source();

}  // namespace convt_jit
