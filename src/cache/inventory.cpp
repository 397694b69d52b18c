#include "cache/inventory.h"

#include "cache/layout.h"
#include "cache/temporary.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace convt_jit {

void for_each_folder(const Root& root,
                     const std::function<void(const std::string& name, const FileDescriptor& folder)>& use) {
    std::vector<std::string> names;
    static_cast<void>(for_each_name(root.directory(), [&](const std::string& name) {
        if (layout::is_fan_out(name)) names.push_back(name);
    }));
    for (const auto& name : names) {
        std::error_code error;
        const auto folder = root.folder(name, error);
        if (!error) use(name, folder);
    }
}

std::vector<Item> list_items(const Root& root) {
    std::vector<Item> items;
    for_each_folder(root, [&](const std::string& folder_name, const FileDescriptor& folder) {
        static_cast<void>(for_each_name(folder, [&](const std::string& name) {
            std::string key = layout::key_of(name);
            struct stat status {};
            if (key.empty() || layout::fan_out(key) != folder_name ||
                ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
                return;
            items.push_back({std::move(key), static_cast<std::uint64_t>(status.st_size), stamp_of(status)});
        }));
    });
    return items;
}

std::uint64_t total_bytes(const std::vector<Item>& items) noexcept {
    std::uint64_t total = 0;
    for (const auto& item : items) total += item.bytes;
    return total;
}

std::size_t sweep_all(const Root& root, bool dry_run) {
    std::size_t count = sweep_orphans(root.directory(), dry_run);
    for_each_folder(root,
                    [&](const std::string&, const FileDescriptor& folder) { count += sweep_orphans(folder, dry_run); });
    for (const char* name : {layout::kHolders, layout::kCompilers}) {
        std::error_code error;
        const auto folder = root.folder(name, error);
        if (!error) count += sweep_orphans(folder, dry_run);
    }
    return count;
}

}  // namespace convt_jit
