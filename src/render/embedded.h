// The templates as they were when the library was built.
#pragma once

#include <map>
#include <string_view>

namespace convt_jit {

[[nodiscard]] const std::map<std::string_view, std::string_view>& embedded_templates();

}  // namespace convt_jit
