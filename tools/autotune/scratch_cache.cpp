#include "autotune/scratch_cache.h"

#include "convt_jit/cache.h"
#include "subject/apart.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace convt_jit::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "convt_autotune_";
constexpr auto kYoung = std::chrono::minutes(1);  // it may not be locked yet

int open_directory(const fs::path& path) {
    return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// This user's directories of tuners that are no more.
void remove_stale(const fs::path& parent) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
        if (!entry.path().filename().string().starts_with(kPrefix)) continue;
        const int directory = open_directory(entry.path());
        if (directory < 0) continue;
        struct stat facts {};
        const bool own = ::fstat(directory, &facts) == 0 && facts.st_uid == ::geteuid();
        const auto age =
            std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(facts.st_mtim.tv_sec);
        if (own && age > kYoung && ::flock(directory, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), error);
        ::close(directory);
    }
}

}  // namespace

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
    const fs::path parent = fs::temp_directory_path();
    remove_stale(parent);
    std::string pattern = (parent / (std::string(kPrefix) + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
    directory_ = pattern;
    lock_ = open_directory(directory_);
    if (lock_ >= 0) (void)::flock(lock_, LOCK_SH);
    ::setenv("CONVT_JIT_CACHE_DIR", directory_.c_str(), 1);
    ::setenv("CONVT_JIT_CACHE_PATH", path.c_str(), 1);
    ::setenv("CONVT_JIT_CACHE_MAX_BYTES", "0", 1);
}

ScratchCache::~ScratchCache() {
    std::error_code error;  // what is left in a directory for such things does no harm
    std::filesystem::remove_all(directory_, error);
    if (lock_ >= 0) ::close(lock_);
}

}  // namespace convt_jit::tools
