#include "cache/home.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace convt_jit {

std::string variable(const char* name) {
    const char* value = ::secure_getenv(name);
    return value != nullptr ? value : "";
}

bool is_absolute(const std::string& path) { return !path.empty() && path.front() == '/'; }

std::string home_directory() {
    if (std::string path = variable("HOME"); is_absolute(path)) return path;
    std::vector<char> buffer(1024);
    passwd entry{};
    passwd* found = nullptr;
    int error = 0;
    while ((error = ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found)) == ERANGE &&
           buffer.size() < (std::size_t{1} << 20))
        buffer.resize(2 * buffer.size());
    if (error != 0 || found == nullptr || found->pw_dir == nullptr || !is_absolute(found->pw_dir)) return "";
    return found->pw_dir;
}

}  // namespace convt_jit
