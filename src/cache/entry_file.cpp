#include "cache/entry_file.h"

#include "cache/clock.h"
#include "cache/layout.h"
#include "cache/producers.h"
#include "cache/temporary.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace convt_jit {
namespace {

constexpr std::size_t kFirstBytes = 4096;  // holds nearly every header

std::optional<std::string> first_bytes(const FileDescriptor& file, std::size_t count) {
    std::string bytes(count, '\0');
    const auto got = ::pread(file.get(), bytes.data(), bytes.size(), 0);
    if (got < 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
}

// What has the name of an entry and cannot even be opened as a file.
void look_at_no_file(const std::string& name, Read& read) {
    if (::fstatat(read.folder.get(), name.c_str(), &read.seen, AT_SYMLINK_NOFOLLOW) != 0) {
        read.error = last_error();
    } else if (S_ISREG(read.seen.st_mode)) {
        read.error = {ENOENT, std::generic_category()};  // gone already; what is there now has not been looked at
    } else {
        read.damage = S_ISLNK(read.seen.st_mode) ? "it is a link" : "it is no file";
    }
}

}  // namespace

Read read_entry(const Root& root, const std::string& key) {
    Read read;
    read.folder = root.folder(layout::fan_out(key), read.error);
    if (read.error) return read;
    read.file = root.file(read.folder, layout::entry_name(key), read.error);
    if (is(read.error, ELOOP) || is(read.error, ENXIO)) look_at_no_file(layout::entry_name(key), read);
    if (read.error) return read;
    auto bytes = read_whole(read.file, kMaxEntryBytes, read.error);
    if (read.error == std::errc::invalid_argument) read.damage = "it is no file";
    if (read.error == std::errc::file_too_large) read.damage = "it is larger than any entry";
    if (bytes) {
        read.bytes = *std::move(bytes);
        read.entry = decode(read.bytes, &read.damage);
    }
    if (read.entry && digest(read.entry->key) != key) {
        read.damage = "it belongs to another key";
        read.entry.reset();
    }
    if (!read.damage.empty()) static_cast<void>(status_of(read.file, read.seen));
    return read;
}

std::optional<Listed> read_header(const Root& root, const std::string& key) {
    std::error_code error;
    const auto folder = root.folder(layout::fan_out(key), error);
    if (error) return std::nullopt;
    const auto file = root.file(folder, layout::entry_name(key), error);
    struct stat status {};
    if (error || status_of(file, status) || !S_ISREG(status.st_mode)) return std::nullopt;
    auto bytes = first_bytes(file, kFirstBytes);
    if (!bytes) return std::nullopt;
    std::size_t header_bytes = 0;
    auto entry = decode_header(*bytes, &header_bytes);
    if (!entry && header_bytes > bytes->size()) {
        bytes = first_bytes(file, header_bytes);
        if (bytes) entry = decode_header(*bytes, &header_bytes);
    }
    if (!entry || digest(entry->key) != key) return std::nullopt;
    Listed listed{*std::move(entry), static_cast<std::uint64_t>(status.st_size), 0, stamp_of(status)};
    if (listed.bytes > header_bytes + kChecksumBytes) listed.cubin_bytes = listed.bytes - header_bytes - kChecksumBytes;
    return listed;
}

std::error_code write_entry(const Root& root, const FileDescriptor& folder, const std::string& key,
                            const std::string& producer, const std::string& bytes) {
    // Before the entry: one that nobody finds for want of its producer's name would be compiled again and again.
    register_producer(root, producer);
    const CacheTime time = cache_time(root);
    if (const auto error = publish(folder, layout::entry_name(key), bytes, root.file_mode(), time.now())) return error;
    advance(root, time, time.now());
    return {};
}

}  // namespace convt_jit
