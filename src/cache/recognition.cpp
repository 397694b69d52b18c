#include "cache/recognition.h"

#include "cache/layout.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace convt_jit {
namespace {

bool has_entry(const FileDescriptor& directory, const std::string& folder_name) {
    std::error_code error;
    const auto folder = open_at(directory.get(), folder_name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, error);
    bool found = false;
    if (!error)
        static_cast<void>(for_each_name(folder, [&](const std::string& name) {
            const std::string key = layout::key_of(name);
            found = found || (!key.empty() && layout::fan_out(key) == folder_name);
        }));
    return found;
}

}  // namespace

bool may_be_cache(const FileDescriptor& directory) {
    bool found = false;
    static_cast<void>(for_each_name(directory, [&](const std::string& name) {
        found = found || layout::is_own(name) || layout::is_fan_out(name);
    }));
    return found;
}

bool looks_like_cache(const FileDescriptor& directory) {
    int own = 0;
    bool entry = false;
    static_cast<void>(for_each_name(directory, [&](const std::string& name) {
        struct stat status {};
        const bool is_own = layout::is_own(name);
        if (is_own && ::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            own += (layout::is_own_folder(name) ? S_ISDIR(status.st_mode) : S_ISREG(status.st_mode)) ? 1 : 0;
        entry = entry || (layout::is_fan_out(name) && has_entry(directory, name));
    }));
    return entry || own >= 2;
}

}  // namespace convt_jit
