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

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

void drop_oldest(const FileDescriptor& quarantine) {
    std::vector<std::pair<std::int64_t, std::string>> kept;
    for_each_name(quarantine, [&](const std::string& name) {
        struct stat status {};
        // The change time is when it was moved here; its modification time is from better days.
        if (::fstatat(quarantine.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
            kept.emplace_back(std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec, name);
    });
    if (kept.size() <= kQuarantined) return;
    std::sort(kept.begin(), kept.end());
    for (std::size_t i = 0; i + kQuarantined < kept.size(); ++i)
        ::unlinkat(quarantine.get(), kept[i].second.c_str(), 0);
}

Aside move_aside(const Root& root, const FileDescriptor& folder, const std::string& name, const struct stat* read) {
    std::error_code error;
    const auto quarantine = root.make_folder(layout::kQuarantine, error);
    if (error) return {false, error};
    const std::string aside = name + "." + this_writer().random;
    if (::renameat(folder.get(), name.c_str(), quarantine.get(), aside.c_str()) != 0) return {false, last_error()};
    struct stat moved {};
    if (read != nullptr && ::fstatat(quarantine.get(), aside.c_str(), &moved, AT_SYMLINK_NOFOLLOW) == 0 &&
        !same_file(*read, moved)) {
        // Somebody healed it between our reading and our renaming: give it back, unless there is a third one already.
        if (::linkat(quarantine.get(), aside.c_str(), folder.get(), name.c_str(), 0) != 0 && errno != EEXIST)
            ::renameat(quarantine.get(), aside.c_str(), folder.get(), name.c_str());  // no hard links here
        ::unlinkat(quarantine.get(), aside.c_str(), 0);
        return {};
    }
    drop_oldest(quarantine);
    return {true, {}};
}

}  // namespace

Aside set_aside(const Root& root, const FileDescriptor& folder, const std::string& name, const FileDescriptor& read) {
    struct stat status {};
    if (const auto error = status_of(read, status)) return {false, error};
    return move_aside(root, folder, name, &status);
}

Aside set_aside(const Root& root, const FileDescriptor& folder, const std::string& name) {
    return move_aside(root, folder, name, nullptr);
}

}  // namespace convt_jit
