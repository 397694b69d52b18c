// File: the few POSIX calls that the cache is made of, as RAII and error codes. Nothing here throws but bad_alloc.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace convt_jit {

// Owns a file descriptor.
class FileDescriptor {
public:
    FileDescriptor() = default;
    explicit FileDescriptor(int number) noexcept : number_(number) {}
    FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        if (this != &other) {
            static_cast<void>(close());
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    ~FileDescriptor() { static_cast<void>(close()); }

    [[nodiscard]] explicit operator bool() const noexcept { return number_ >= 0; }
    [[nodiscard]] int get() const noexcept { return number_; }
    // What close said: a network or quota error may surface only there.
    std::error_code close() noexcept;

private:
    int number_ = -1;
};

// openat with O_CLOEXEC, repeated on EINTR. `at` may be AT_FDCWD.
[[nodiscard]] FileDescriptor open_at(int at, const char* path, int flags, mode_t mode, std::error_code& error) noexcept;

// A directory, made with `mode` (its missing parents with 0700) where there is none.
[[nodiscard]] FileDescriptor make_directory(const std::string& path, mode_t mode, std::error_code& error);

// The whole of a regular file of at most `limit` bytes.
[[nodiscard]] std::optional<std::string> read_whole(const FileDescriptor& file, std::size_t limit,
                                                    std::error_code& error);

// All bytes; short writes are continued.
[[nodiscard]] std::error_code write_whole(const FileDescriptor& file, std::string_view bytes) noexcept;

// Writes `bytes` to a temporary file in `directory`, flushes, closes and only then gives it its name: a reader sees the
// old file, no file or the whole new one. The temporary file is removed on any failure.
[[nodiscard]] std::error_code publish(const FileDescriptor& directory, const std::string& name, std::string_view bytes,
                                      mode_t mode);

}  // namespace convt_jit
