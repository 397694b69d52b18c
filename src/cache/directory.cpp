#include "cache/directory.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace convt_jit {
namespace {

// An empty variable counts as unset. A program that runs with more rights than its caller is not steered by the
// caller's environment.
std::string variable(const char* name) {
    const char* value = ::secure_getenv(name);
    return value != nullptr ? value : "";
}

bool absolute(const std::string& path) { return !path.empty() && path.front() == '/'; }

std::string home() {
    if (std::string path = variable("HOME"); absolute(path)) return path;
    std::vector<char> buffer(1024);
    passwd entry{};
    passwd* found = nullptr;
    int error = 0;
    while ((error = ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found)) == ERANGE &&
           buffer.size() < (std::size_t{1} << 20))
        buffer.resize(2 * buffer.size());
    if (error != 0 || found == nullptr || found->pw_dir == nullptr || !absolute(found->pw_dir)) return "";
    return found->pw_dir;
}

}  // namespace

std::optional<std::string> default_cache_directory() {
    if (std::string path = variable("CONVT_JIT_CACHE_DIR"); !path.empty()) {
        // Resolved now, so that a later chdir does not move the cache.
        std::error_code error;
        const auto resolved = std::filesystem::absolute(path, error);
        return error ? std::optional<std::string>() : resolved.string();
    }
    // The XDG base directory specification: a relative path is invalid and ignored.
    if (std::string path = variable("XDG_CACHE_HOME"); absolute(path)) return path + "/convt_jit";
    if (std::string path = home(); !path.empty()) return path + "/.cache/convt_jit";
    return std::nullopt;
}

}  // namespace convt_jit
