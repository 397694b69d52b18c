// Archive: entries of a cache as one plain tar file with a manifest, to be carried to other machines.
#pragma once

#include "cache/root.h"
#include "convt_jit/cache.h"

#include <string>
#include <vector>

namespace convt_jit {

// Entries in the order of their keys, then the names of their producers, so that the archive is a cache when unpacked;
// the manifest last: an archive that is cut has none. Throws CacheError.
CacheTransfer export_archive(const Root& root, const std::string& file, const std::vector<std::string>& archs);

// Reads the archive twice: first all of it is checked, then its entries are published. Throws CacheError, in the first
// reading with nothing changed.
CacheTransfer import_archive(const Root& root, const std::string& file);

}  // namespace convt_jit
