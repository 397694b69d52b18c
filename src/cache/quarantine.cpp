#include "cache/quarantine.h"

#include "cache/layout.h"
#include "cache/temporary.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace convt_jit {
namespace {

bool same_file(const struct stat& a, const struct stat& b) {
    // The kind as well: the number of what is gone may have been given to a new file.
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino && (a.st_mode & S_IFMT) == (b.st_mode & S_IFMT);
}

std::string name_aside(const std::string& name) { return name + "." + this_writer().random; }

void drop_oldest(const FileDescriptor& quarantine) {
    std::vector<std::pair<std::int64_t, std::string>> kept;
    for_each_name(quarantine, [&](const std::string& name) {
        struct stat status {};
        // The change time is when it was moved here; its modification time is from better days.
        if (::fstatat(quarantine.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            kept.emplace_back(to_stamp(status.st_ctim), name);
    });
    if (kept.size() <= kQuarantined) return;
    std::sort(kept.begin(), kept.end());
    for (std::size_t i = 0; i + kQuarantined < kept.size(); ++i)
        ::unlinkat(quarantine.get(), kept[i].second.c_str(), 0);
}

}  // namespace

Aside set_aside(const Root& root, const FileDescriptor& folder, const std::string& name, const struct stat& seen) {
    std::error_code error;
    const auto quarantine = root.make_folder(layout::kQuarantine, error);
    if (error) return {false, error};
    const std::string aside = name_aside(name);
    if (::renameat(folder.get(), name.c_str(), quarantine.get(), aside.c_str()) != 0) {
        error = last_error();
        struct stat status {};
        const bool gone = ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
        return {false, gone ? std::error_code() : error};
    }
    struct stat moved {};
    if (::fstatat(quarantine.get(), aside.c_str(), &moved, AT_SYMLINK_NOFOLLOW) == 0 && !same_file(seen, moved)) {
        // Somebody healed it between our reading and our renaming: give it back, unless there is a third one already.
        if (::linkat(quarantine.get(), aside.c_str(), folder.get(), name.c_str(), 0) != 0 && errno != EEXIST)
            ::renameat(quarantine.get(), aside.c_str(), folder.get(), name.c_str());  // no hard links here
        ::unlinkat(quarantine.get(), aside.c_str(), 0);
        return {};
    }
    drop_oldest(quarantine);
    return {true, {}};
}

Aside make_way_for_quarantine(const Root& root) {
    const std::string aside = name_aside(layout::kQuarantine);
    if (::renameat(root.get(), layout::kQuarantine, root.get(), aside.c_str()) != 0) return {false, last_error()};
    std::error_code error;
    const auto quarantine = root.make_folder(layout::kQuarantine, error);
    if (!error && ::renameat(root.get(), aside.c_str(), quarantine.get(), aside.c_str()) != 0) error = last_error();
    return {!error, error};
}

}  // namespace convt_jit
