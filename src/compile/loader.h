// Loader: where the dynamic loader would find a library, told without opening it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

// The file that dlopen would take for a name without a slash: one that is loaded already, else the first of the
// loader's path that exists. "" where there is none. Only a forecast: whoever opens the library sees what it was.
[[nodiscard]] std::string loader_file(const std::string& name);

// The files that a loader cache (the bytes of /etc/ld.so.cache) has for a name, for this machine's word size, in its
// order. Pure; whatever is no such cache has none.
[[nodiscard]] std::vector<std::string> files_in_loader_cache(std::string_view cache, std::string_view name);

}  // namespace convt_jit
