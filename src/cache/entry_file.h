// EntryFile: one entry of an opened cache directory.
#pragma once

#include "cache/entry.h"
#include "cache/root.h"

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

namespace convt_jit {

// Far above any cubin; keeps a stray file from filling the memory.
inline constexpr std::size_t kMaxEntryBytes = std::size_t{1} << 28;

// What reading an entry came to.
struct Read {
    std::optional<Entry> entry;  // sound, and of the key that was asked for
    FileDescriptor folder, file;
    std::string bytes;      // as they lie there
    std::error_code error;  // could not be read at all
    std::string damage;     // could be read, and is wrong; empty where it is not
    struct stat seen {};    // what is damaged
};
[[nodiscard]] Read read_entry(const Root& root, const std::string& key);

// Key and provenance, unchecked, with what the file says of itself.
struct Listed {
    Entry entry;  // without cubin
    std::uint64_t bytes = 0, cubin_bytes = 0;
    std::int64_t used = 0;
};
[[nodiscard]] std::optional<Listed> read_header(const Root& root, const std::string& key);

// Publishes an entry under its key, with its producer and its stamp.
[[nodiscard]] std::error_code write_entry(const Root& root, const FileDescriptor& folder, const std::string& key,
                                          const std::string& producer, const std::string& bytes);

}  // namespace convt_jit
