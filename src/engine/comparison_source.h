// The source of the comparison's kernels, by the names of its files.
#pragma once

#include <map>
#include <string_view>

namespace convt_jit {

[[nodiscard]] const std::map<std::string_view, std::string_view>& comparison_source();

}  // namespace convt_jit
