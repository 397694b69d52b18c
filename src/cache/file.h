// File: the few POSIX calls that the cache is made of, as RAII and error codes. Nothing here throws but bad_alloc.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
    int release() noexcept { return std::exchange(number_, -1); }
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

// What root makes in another user's folder belongs to that user, who could not use it otherwise.
void give_to_owner_of(const FileDescriptor& folder, const FileDescriptor& made) noexcept;

// fstat.
[[nodiscard]] std::error_code status_of(const FileDescriptor& file, struct stat& status) noexcept;

// Nanoseconds since the epoch; what lies before it, or after what that can hold (the year 2262), is taken for the end
// of the range, so that differences never overflow.
[[nodiscard]] std::int64_t to_stamp(const timespec& time) noexcept;
// Modification time as a stamp, and how long ago that was by the machine's clock: below zero where it lies ahead.
[[nodiscard]] std::int64_t stamp_of(const struct stat& status) noexcept;
[[nodiscard]] std::chrono::seconds age_of(const struct stat& status) noexcept;
[[nodiscard]] std::error_code set_stamp(const FileDescriptor& file, std::int64_t stamp) noexcept;

// Every name in a folder but "." and "..", in no order. Names that come and go meanwhile may be seen or not.
std::error_code for_each_name(const FileDescriptor& folder, const std::function<void(const std::string&)>& use);

// errno
[[nodiscard]] std::error_code last_error() noexcept;
// Whether it is that errno and not the same number of another category.
[[nodiscard]] inline bool is(const std::error_code& error, int number) noexcept {
    return error.value() == number && error.category() == std::generic_category();
}

}  // namespace convt_jit
