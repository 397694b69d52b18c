#include "cache/destination.h"

#include "cache/link_chain.h"
#include "convt_jit/cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <filesystem>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

bool is_in_proc(const fs::path& path) {
    struct statfs status {};
    return ::statfs(folder_of(path).c_str(), &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

}  // namespace

Destination destination_of(const std::string& file) {
    std::error_code error;
    const fs::path path = end_of_links(file, error, [&](const fs::path& link) {
        if (is_in_proc(link)) throw CacheError(file, "it is the name of an open file; allowed: one of a regular file");
    });
    if (error) throw CacheError(file, error.message());
    if (!path.has_filename()) throw CacheError(file, "it is no name of a file");
    Destination destination{{}, path.filename().string(), {}};
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0) {
        if (!S_ISREG(status.st_mode)) throw CacheError(file, "it is no regular file");
        destination.mode = status.st_mode & 07777;
    }
    destination.folder = open_at(AT_FDCWD, folder_of(path).c_str(), O_RDONLY | O_DIRECTORY, 0, error);
    if (error) throw CacheError(file, error.message());
    return destination;
}

}  // namespace convt_jit
