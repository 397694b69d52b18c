#include "autotune/scratch_cache.h"

#include "convt_jit/cache.h"
#include "subject/apart.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace convt_jit::tools {

ScratchCache::ScratchCache() {
    (void)environment_caches();  // outputs spare the user's
    try {
        users_ = Cache().directory();
    } catch (const CacheError&) {  // there is none
    }
    std::string path;
    for (const std::string& directory : cache_directories())
        if (std::error_code error; std::filesystem::is_directory(directory, error))
            path += (path.empty() ? "" : ":") + directory;
    std::string pattern = (std::filesystem::temp_directory_path() / "convt_autotune_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
    directory_ = pattern;
    ::setenv("CONVT_JIT_CACHE_DIR", directory_.c_str(), 1);
    ::setenv("CONVT_JIT_CACHE_PATH", path.c_str(), 1);
    ::setenv("CONVT_JIT_CACHE_MAX_BYTES", "0", 1);
}

ScratchCache::~ScratchCache() {
    std::error_code error;  // what is left in a directory for such things does no harm
    std::filesystem::remove_all(directory_, error);
}

}  // namespace convt_jit::tools
