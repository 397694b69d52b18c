// Temporary: files that are being written. Their names say who writes, so that those of the dead can be swept.
#pragma once

#include "cache/file.h"

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace convt_jit {

// Who writes a file: also the name of a process among all that share a cache directory.
struct Writer {
    std::string host;  // letters, digits, dots and hyphens only
    pid_t pid = 0;
    std::string random;  // 16 hex digits
    friend bool operator==(const Writer&, const Writer&) = default;
};

// This process, with a fresh random part.
[[nodiscard]] Writer this_writer();
// On this host, or in a container that took its name.
[[nodiscard]] bool is_local(const Writer& writer);
// Whether a process of that number runs; says nothing about another host.
[[nodiscard]] bool is_running(pid_t pid) noexcept;
// Whether what /proc/PID/stat says is said of a process that has ended: a zombie has a number, and does nothing any
// more but wait for its parent. One whose first thread alone has ended runs on.
[[nodiscard]] bool has_ended(std::string_view stat) noexcept;

// "node7-4711-00c0ffee00c0ffee"
[[nodiscard]] std::string to_string(const Writer& writer);
[[nodiscard]] std::optional<Writer> parse_writer(std::string_view text);

// ".node7-4711-00c0ffee00c0ffee.tmp"
[[nodiscard]] std::string temporary_name(const Writer& writer);
[[nodiscard]] std::optional<Writer> parse_temporary_name(std::string_view name);

struct TemporaryFacts {
    bool local = false;           // the writer's host is this one
    bool running = false;         // ... and has a process of that number
    bool locked = false;          // somebody holds the file's lock
    std::chrono::seconds age{0};  // below zero where the clock was set back
};
// Nobody will ever finish it.
[[nodiscard]] bool is_orphan(const TemporaryFacts& facts) noexcept;

// Removes the orphans in a folder; returns how many there were. `failure` becomes why one could not be removed.
std::size_t sweep_orphans(const FileDescriptor& folder, bool dry_run = false, std::error_code* failure = nullptr);

// Whether a file is on the disk before it gets its name. Without it, a crash of the machine may leave it empty.
enum class Flush { yes, no };

// A file that gets its name only when it is whole: written under a temporary name in the same folder, flushed, closed
// and checked, then renamed. A reader sees the old file, no file or the whole new one. Without a commit, or after any
// failure, nothing stays.
class Publication {
public:
    // `folder` must outlive it.
    Publication(const FileDescriptor& folder, std::string name);
    Publication(const Publication&) = delete;
    Publication& operator=(const Publication&) = delete;
    ~Publication();

    // `mode` is subject to the umask.
    [[nodiscard]] std::error_code begin(mode_t mode);
    [[nodiscard]] std::error_code write(std::string_view bytes);
    [[nodiscard]] std::error_code commit(Flush flush = Flush::yes);
    [[nodiscard]] const FileDescriptor& file() const noexcept { return file_; }

private:
    const FileDescriptor& folder_;
    const std::string name_, temporary_;
    FileDescriptor file_, keeps_lock_;
    bool begun_ = false;
};

// All of that at once. `mode` is set whatever the umask; `stamp` is the modification time in ns since the epoch.
[[nodiscard]] std::error_code publish(const FileDescriptor& folder, const std::string& name, std::string_view bytes,
                                      mode_t mode, std::optional<std::int64_t> stamp = std::nullopt,
                                      Flush flush = Flush::yes);

}  // namespace convt_jit
