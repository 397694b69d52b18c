// Inventory: what lies in a cache directory, without opening the files.
#pragma once

#include "cache/clock.h"
#include "cache/root.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace convt_jit {

struct Item {
    std::string key;
    std::uint64_t bytes = 0;
    Stamp used = 0;
};

// All entries, in no order.
[[nodiscard]] std::vector<Item> list_items(const Root& root);
[[nodiscard]] std::uint64_t total_bytes(const std::vector<Item>& items) noexcept;

// Every fan-out folder that can be opened.
void for_each_folder(const Root& root,
                     const std::function<void(const std::string& name, const FileDescriptor& folder)>& use);

// Orphaned temporary files, in all folders. Returns how many.
std::size_t sweep_all(const Root& root, bool dry_run);

}  // namespace convt_jit
