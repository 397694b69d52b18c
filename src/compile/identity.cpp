#include "compile/identity.h"

#include "compile/loader.h"
#include "compile/places.h"
#include "compile/search.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <memory>

namespace convt_jit {

FileIdentity identity_of(const std::string& file) {
    struct Free {
        void operator()(char* text) const { std::free(text); }
    };
    const std::unique_ptr<char, Free> resolved(::realpath(file.c_str(), nullptr));
    struct stat status {};
    if (resolved == nullptr || ::stat(resolved.get(), &status) != 0) return {};
    return {resolved.get(), static_cast<std::uint64_t>(status.st_size), status.st_ino,
            std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

std::string to_string(const FileIdentity& identity) {
    return fmt::format("{} {} {} {}", identity.path, identity.bytes, identity.modified, identity.inode);
}

FileIdentity nvrtc_identity() {
    for (const auto& candidate : nvrtc_candidates(search_places())) {
        const bool path = candidate.find('/') != std::string::npos;
        const std::string file = path ? candidate : loader_file(candidate);
        if (file.empty()) continue;
        if (auto identity = identity_of(file); identity.exists()) return identity;
    }
    return {};
}

}  // namespace convt_jit
