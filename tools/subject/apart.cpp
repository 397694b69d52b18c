#include "subject/apart.h"

#include "convt_jit/cache.h"
#include "subject/output_file.h"
#include "subject/usage_error.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

namespace convt_jit::tools {
namespace {

namespace fs = std::filesystem;

bool same(const fs::path& a, const fs::path& b) {
    struct stat of_a {
    }, of_b{};
    return ::stat(a.c_str(), &of_a) == 0 && ::stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

bool lies_in(fs::path path, const fs::path& directory) {
    while (path.has_relative_path()) {
        path = path.parent_path();
        if (same(path, directory)) return true;
    }
    return false;
}

// The cache that it would lie in, whoever's; empty: none.
fs::path cache_around(fs::path path) {
    while (path.has_relative_path()) {
        path = path.parent_path();
        if (looks_like_cache(path.string())) return path;
    }
    return {};
}

// Where a directory is to be made, or one above it.
bool in_the_way_of(const fs::path& path, const fs::path& directory) {
    std::error_code error;
    if (fs::exists(directory, error)) return false;
    const auto to_be = fs::weakly_canonical(fs::absolute(directory), error);
    return !error && std::mismatch(path.begin(), path.end(), to_be.begin(), to_be.end()).first == path.end();
}

// Of whichever cache: it begins as they all do.
bool is_entry(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return false;
    constexpr std::string_view magic =
        "\x89"
        "cvtjit\n";
    std::string first(magic.size(), '\0');
    std::ifstream file(path, std::ios::binary);
    return file.read(first.data(), static_cast<std::streamsize>(first.size())) && first == magic;
}

// The file that gets the bytes, and the name that is replaced where a link itself is.
std::vector<fs::path> written(const std::string& path) {
    try {
        const std::string file = written_file(path);
        if (file.empty()) return {};
        std::error_code error;
        const fs::path named = fs::absolute(path, error);
        return {fs::weakly_canonical(file, error), fs::weakly_canonical(named.parent_path(), error) / named.filename()};
    } catch (const std::system_error&) {
        return {};  // whoever writes there says what is wrong
    }
}

std::vector<std::string> caches_to_spare() {
    std::vector<std::string> all = cache_directories();
    const auto& others = environment_caches();
    all.insert(all.end(), others.begin(), others.end());
    return all;
}

}  // namespace

const std::vector<std::string>& environment_caches() {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> found;
        try {
            found.push_back(Cache().directory());
        } catch (const CacheError&) {  // there is none
        }
        const char* const path = ::getenv("CONVT_JIT_CACHE_PATH");
        std::istringstream parts(path != nullptr ? path : "");
        for (std::string part; std::getline(parts, part, ':');)
            if (!part.empty()) found.push_back(part);
        return found;
    }();
    return all;
}

void expect_apart(const NamedFile& output, const std::vector<NamedFile>& inputs) {
    const auto& [option, path] = output;
    for (const fs::path& file : written(path)) {
        for (const auto& [input, read] : inputs)
            if (!read.empty() && same(file, read))
                throw UsageError(
                    fmt::format("{}: \"{}\" is the file that {} reads; allowed: another file", option, path, input));
        for (const std::string& directory : caches_to_spare())
            if (lies_in(file, directory) || in_the_way_of(file, directory))
                throw UsageError(
                    fmt::format("{}: \"{}\" is within the cache directory {}; allowed: a file outside of it", option,
                                path, directory));
        if (const fs::path cache = cache_around(file); !cache.empty())
            throw UsageError(fmt::format(
                "{}: \"{}\" is within {}, which looks like a cache directory; allowed: a file outside of it", option,
                path, cache.string()));
        if (file.parent_path() == "/dev")
            throw UsageError(fmt::format("{}: \"{}\" is no device; allowed: a file outside of /dev", option, path));
        if (is_entry(file))
            throw UsageError(fmt::format("{}: \"{}\" is an entry of a cache; allowed: another file", option, path));
    }
}

bool same_output(const std::string& a, const std::string& b) {
    const auto name = [](const std::string& path) { return path == "-" ? std::string("/dev/stdout") : path; };
    struct stat of_a {
    }, null{};
    if (same(name(a), name(b))) {
        const bool thrown_away = ::stat(name(a).c_str(), &of_a) == 0 && ::stat("/dev/null", &null) == 0 &&
                                 S_ISCHR(of_a.st_mode) && of_a.st_rdev == null.st_rdev;
        return !thrown_away;
    }
    const std::vector<fs::path> files_a = written(a), files_b = written(b);
    return std::any_of(files_a.begin(), files_a.end(), [&](const fs::path& file) {
        return std::find(files_b.begin(), files_b.end(), file) != files_b.end();
    });
}

void expect_distinct(const std::vector<NamedFile>& outputs) {
    for (auto one = outputs.begin(); one != outputs.end(); ++one)
        for (auto other = outputs.begin(); other != one; ++other)
            if (!one->second.empty() && !other->second.empty() && same_output(one->second, other->second))
                throw UsageError(fmt::format("{}: \"{}\" is the file that {} writes, too; allowed: another file",
                                             one->first, one->second, other->first));
}

}  // namespace convt_jit::tools
