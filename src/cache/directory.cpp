#include "cache/directory.h"

#include "cache/home.h"

#include <filesystem>
#include <system_error>

namespace convt_jit {

std::optional<std::string> default_cache_directory() {
    if (std::string path = variable("CONVT_JIT_CACHE_DIR"); !path.empty()) {
        // Resolved now, so that a later chdir does not move the cache.
        std::error_code error;
        const auto resolved = std::filesystem::absolute(path, error);
        return error ? std::optional<std::string>() : resolved.string();
    }
    if (std::string path = variable("XDG_CACHE_HOME"); is_absolute(path)) return path + "/convt_jit";
    if (std::string path = home_directory(); !path.empty()) return path + "/.cache/convt_jit";
    return std::nullopt;
}

}  // namespace convt_jit
