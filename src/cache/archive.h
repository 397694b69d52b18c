// Archive: entries of a cache as one plain tar file with a manifest, to be carried to other machines.
#pragma once

#include "cache/file.h"
#include "cache/root.h"
#include "convt_jit/cache.h"

#include <chrono>
#include <string>
#include <vector>

namespace convt_jit {

// Entries in the order of their keys, then the names of their producers, so that the archive is a cache when unpacked;
// the manifest last: an archive that is cut has none. Without a single entry there is no file, and what had its name
// stays. Throws CacheError, also where a folder cannot be read: what was left out would look as if it had never been
// there.
CacheTransfer export_archive(const Root& root, const std::string& file, const std::vector<std::string>& archs);

// An archive that has been read to its end and found sound. Kept open, so that it stays the same file.
struct CheckedArchive {
    FileDescriptor opened;
    std::string file;
    std::vector<std::string> keys;
};
// Throws CacheError where anything is wrong.
[[nodiscard]] CheckedArchive check_archive(const std::string& file);
// Publishes its entries, all or none. They are checked again: the file may have been written to since.
// Waits so long for another import.
CacheTransfer import_archive(const Root& root, const CheckedArchive& archive,
                             std::chrono::milliseconds wait = std::chrono::seconds(30));

}  // namespace convt_jit
