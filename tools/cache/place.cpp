#include "cache/place.h"

#include "subject/apart.h"
#include "subject/usage_error.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace convt_jit::tools {

void Place::add_to(CLI::App& command) {
    command.add_option("--cache", directory, "the cache directory; default: the one that an engine would use")
        ->type_name("DIR");
    command.add_flag("--json", json, "print JSON");
}

void Place::settle() const {
    if (!directory) return;
    if (directory->empty()) throw UsageError("--cache: it is empty; allowed: a directory");
    std::error_code error;
    const auto resolved = std::filesystem::absolute(*directory, error);
    if (error) throw UsageError(fmt::format("--cache: {}: {}", *directory, error.message()));
    static_cast<void>(environment_caches());  // outputs spare them, too
    ::setenv("CONVT_JIT_CACHE_DIR", resolved.c_str(), 1);
    ::unsetenv("CONVT_JIT_CACHE_PATH");
}

Cache Place::any() const {
    settle();
    Cache cache(directory);
    std::error_code error;
    const auto status = std::filesystem::status(cache.directory(), error);
    // Not there and not to be seen are different things: the second one is told by whoever opens it.
    if (std::filesystem::exists(status) && !std::filesystem::is_directory(status))
        throw UsageError(fmt::format("{}: it is no directory", cache.directory()));
    // What can be the name of no directory.
    if (error == std::errc::filename_too_long || error == std::errc::too_many_symbolic_link_levels)
        throw UsageError(fmt::format("{}: {}", cache.directory(), error.message()));
    return cache;
}

Cache Place::existing() const {
    Cache cache = any();
    std::error_code error;
    if (std::filesystem::status(cache.directory(), error).type() == std::filesystem::file_type::not_found)
        throw UsageError(fmt::format("{}: there is no such directory{}", cache.directory(),
                                     directory ? "" : " (nothing has been cached there yet)"));
    return cache;
}

}  // namespace convt_jit::tools
