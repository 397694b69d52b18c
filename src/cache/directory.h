// Directory: where the user's cache lives.
#pragma once

#include <optional>
#include <string>

namespace convt_jit {

// $CONVT_JIT_CACHE_DIR, else $XDG_CACHE_HOME/convt_jit, else ~/.cache/convt_jit, with the home of $HOME or, without it,
// of the passwd entry. Nothing where none of these exists: then there is no disk cache. Makes nothing.
[[nodiscard]] std::optional<std::string> default_cache_directory();

}  // namespace convt_jit
