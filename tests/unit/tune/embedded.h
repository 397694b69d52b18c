// Embedded: tests/data/records, as the build puts cache/ into the library.
#pragma once

#include <map>
#include <string_view>

namespace convt_jit {

[[nodiscard]] const std::map<std::string_view, std::string_view>& embedded_records();

}  // namespace convt_jit
