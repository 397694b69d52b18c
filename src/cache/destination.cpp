#include "cache/destination.h"

#include "convt_jit/cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <filesystem>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel has it

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

bool is_in_proc(const fs::path& path) {
    struct statfs status {};
    return ::statfs(folder_of(path).c_str(), &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

fs::path end_of_links(const std::string& file) {
    fs::path path(file);
    std::error_code error;
    for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)); ++links) {
        if (is_in_proc(path)) throw CacheError(file, "it is the name of an open file; allowed: one of a regular file");
        if (links == kMostLinks)
            throw CacheError(file, make_error_code(std::errc::too_many_symbolic_link_levels).message());
        path = path.parent_path() / fs::read_symlink(path, error);  // an absolute one replaces the whole
    }
    return path;
}

}  // namespace

Destination destination_of(const std::string& file) {
    const fs::path path = end_of_links(file);
    if (!path.has_filename()) throw CacheError(file, "it is no name of a file");
    Destination destination{{}, path.filename().string(), {}};
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) {
        if (!S_ISREG(status.st_mode)) throw CacheError(file, "it is no regular file");
        destination.mode = status.st_mode & 07777;
    }
    std::error_code error;
    destination.folder = open_at(AT_FDCWD, folder_of(path).c_str(), O_RDONLY | O_DIRECTORY, 0, error);
    if (error) throw CacheError(file, error.message());
    return destination;
}

}  // namespace convt_jit
