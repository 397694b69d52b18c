#include "cache/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>

namespace convt_jit {
std::error_code last_error() noexcept { return {errno, std::generic_category()}; }

std::error_code FileDescriptor::close() noexcept {
    if (number_ < 0) return {};
    // Never repeated: on Linux the number is free even after EINTR and may belong to another thread by then.
    const bool failed = ::close(std::exchange(number_, -1)) != 0 && errno != EINTR;
    return failed ? last_error() : std::error_code();
}

FileDescriptor open_at(int at, const char* path, int flags, mode_t mode, std::error_code& error) noexcept {
    int number = -1;
    do number = ::openat(at, path, flags | O_CLOEXEC, mode);
    while (number < 0 && errno == EINTR);
    error = number < 0 ? last_error() : std::error_code();
    return FileDescriptor(number);
}

FileDescriptor make_directory(const std::string& path, mode_t mode, std::error_code& error) {
    auto directory = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0, error);
    if (directory || !is(error, ENOENT)) return directory;
    for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
        if (::mkdir(path.substr(0, slash).c_str(), 0700) == 0 || errno == EEXIST) continue;
        const auto failure = last_error();
        struct stat status {};
        // EROFS, EACCES or an automounter's answer for a directory that is there are no trouble.
        if (::stat(path.substr(0, slash).c_str(), &status) == 0) continue;
        error = failure;
        return {};
    }
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
        error = last_error();
        return {};
    }
    return open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0, error);
}

std::optional<std::string> read_whole(const FileDescriptor& file, std::size_t limit, std::error_code& error) {
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) {
        error = last_error();
        return std::nullopt;
    }
    if (!S_ISREG(status.st_mode) || status.st_size < 0 || static_cast<std::uint64_t>(status.st_size) > limit) {
        error = std::make_error_code(S_ISREG(status.st_mode) ? std::errc::file_too_large : std::errc::invalid_argument);
        return std::nullopt;
    }
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const auto count = ::read(file.get(), bytes.data() + done, bytes.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            error = last_error();
            return std::nullopt;
        }
        if (count == 0) break;  // somebody cut it: the checksum will tell
        done += static_cast<std::size_t>(count);
    }
    bytes.resize(done);
    error.clear();
    return bytes;
}

std::error_code write_whole(const FileDescriptor& file, std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const auto count = ::write(file.get(), bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return last_error();
        if (count == 0) return std::make_error_code(std::errc::no_space_on_device);  // rather than trying for ever
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
}

void give_to_owner_of(const FileDescriptor& folder, const FileDescriptor& made) noexcept {
    struct stat owner {};
    if (::geteuid() != 0 || status_of(folder, owner) || owner.st_uid == 0) return;
    static_cast<void>(::fchown(made.get(), owner.st_uid, owner.st_gid));
}

std::error_code status_of(const FileDescriptor& file, struct stat& status) noexcept {
    return ::fstat(file.get(), &status) == 0 ? std::error_code() : last_error();
}

std::int64_t to_stamp(const timespec& time) noexcept {
    constexpr std::int64_t kSecond = 1'000'000'000;
    if (time.tv_sec < 0) return 0;
    return time.tv_sec < INT64_MAX / kSecond ? time.tv_sec * kSecond + time.tv_nsec : INT64_MAX;
}

std::int64_t stamp_of(const struct stat& status) noexcept { return to_stamp(status.st_mtim); }

std::chrono::seconds age_of(const struct stat& status) noexcept {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now - std::chrono::nanoseconds(stamp_of(status)));
}

std::error_code set_stamp(const FileDescriptor& file, std::int64_t stamp) noexcept {
    timespec modified{};
    modified.tv_sec = static_cast<time_t>(stamp / 1'000'000'000);
    modified.tv_nsec = static_cast<long>(stamp % 1'000'000'000);
    const timespec times[2] = {{0, UTIME_OMIT}, modified};
    return ::futimens(file.get(), times) == 0 ? std::error_code() : last_error();
}

std::error_code for_each_name(const FileDescriptor& folder, const std::function<void(const std::string&)>& use) {
    // Opened anew: a duplicate would share its position with other readers of the same descriptor.
    std::error_code error;
    auto fresh = open_at(folder.get(), ".", O_RDONLY | O_DIRECTORY, 0, error);
    if (error) return error;
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(fresh.get()), ::closedir);
    if (stream == nullptr) return last_error();
    fresh.release();
    for (;;) {
        errno = 0;
        const dirent* item = ::readdir(stream.get());
        if (item == nullptr) return errno == 0 ? std::error_code() : last_error();
        const std::string name = item->d_name;
        if (name != "." && name != "..") use(name);
    }
}

}  // namespace convt_jit
