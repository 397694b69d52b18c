// Inventory: what lies in a cache directory, without opening the files.
#pragma once

#include "cache/clock.h"
#include "cache/root.h"

#include <cstdint>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

namespace convt_jit {

struct Item {
    std::string key;
    std::uint64_t bytes = 0;
    Stamp used = 0;
    bool is_file = true;  // false: a link, a folder or the like has its name; it takes no bytes, and none of it is read
};

// A folder that holds entries and could not be read, or not wholly.
struct LeftOut {
    std::string folder;
    std::error_code error;
};

// All entries, in no order. What is not among them for want of a folder is told in `left_out`.
[[nodiscard]] std::vector<Item> list_items(const Root& root, std::vector<LeftOut>* left_out = nullptr);
[[nodiscard]] std::uint64_t total_bytes(const std::vector<Item>& items) noexcept;

// Every fan-out folder that can be opened; `use` returns what went wrong in it.
void for_each_folder(const Root& root,
                     const std::function<std::error_code(const std::string& name, const FileDescriptor& folder)>& use,
                     std::vector<LeftOut>* left_out = nullptr);

// Orphaned temporary files, in all folders. Returns how many; `failure` becomes why one could not be removed.
std::size_t sweep_all(const Root& root, bool dry_run, std::error_code* failure = nullptr);

}  // namespace convt_jit
