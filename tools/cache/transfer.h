// Transfer: `export` and `import`: a cache in one file.
#pragma once

#include "cache/place.h"

#include <string>
#include <vector>

namespace convt_jit::tools {

// 1 where an entry had to be left out, which is named, and where there was none to be written.
[[nodiscard]] int export_to(const Place& place, const std::string& file, const std::vector<std::string>& archs);
// 1 where the directory then holds more than its cap, and what is put next evicts some of it. A file that is not there
// or not a sound export is bad usage, and nothing of it is kept.
[[nodiscard]] int import_from(const Place& place, const std::string& file);

}  // namespace convt_jit::tools
