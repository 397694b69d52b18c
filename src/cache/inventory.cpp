#include "cache/inventory.h"

#include "cache/layout.h"
#include "cache/temporary.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace convt_jit {

void for_each_folder(const Root& root,
                     const std::function<std::error_code(const std::string& name, const FileDescriptor& folder)>& use,
                     std::vector<LeftOut>* left_out) {
    const auto leave_out = [&](const std::string& folder, const std::error_code& error) {
        // Whoever clears the cache meanwhile leaves nothing to be read.
        if (left_out != nullptr && error && !is(error, ENOENT)) left_out->push_back({folder, error});
    };
    std::vector<std::string> names;
    leave_out(".", for_each_name(root.directory(), [&](const std::string& name) {
                  if (layout::is_fan_out(name)) names.push_back(name);
              }));
    for (const auto& name : names) {
        std::error_code error;
        const auto folder = root.folder(name, error);
        if (!error) error = use(name, folder);
        leave_out(name, error);
    }
}

std::vector<Item> list_items(const Root& root, std::vector<LeftOut>* left_out) {
    std::vector<Item> items;
    const auto read = [&](const std::string& folder_name, const FileDescriptor& folder) {
        std::error_code hidden;
        const auto error = for_each_name(folder, [&](const std::string& name) {
            std::string key = layout::key_of(name);
            struct stat status {};
            if (key.empty() || layout::fan_out(key) != folder_name) return;
            if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
                if (errno != ENOENT) hidden = last_error();
            } else {
                const bool is_file = S_ISREG(status.st_mode);
                const auto bytes = is_file ? static_cast<std::uint64_t>(status.st_size) : 0;
                items.push_back({std::move(key), bytes, stamp_of(status), is_file});
            }
        });
        return error ? error : hidden;
    };
    for_each_folder(root, read, left_out);
    return items;
}

std::uint64_t total_bytes(const std::vector<Item>& items) noexcept {
    std::uint64_t total = 0;
    for (const auto& item : items) total += item.bytes;
    return total;
}

std::size_t sweep_all(const Root& root, bool dry_run, std::error_code* failure) {
    std::size_t count = sweep_orphans(root.directory(), dry_run, failure);
    for_each_folder(root, [&](const std::string&, const FileDescriptor& folder) {
        count += sweep_orphans(folder, dry_run, failure);
        return std::error_code();
    });
    for (const char* name : {layout::kHolders, layout::kCompilers}) {
        std::error_code error;
        const auto folder = root.folder(name, error);
        if (!error) count += sweep_orphans(folder, dry_run, failure);
    }
    return count;
}

}  // namespace convt_jit
