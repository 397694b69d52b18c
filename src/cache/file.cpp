#include "cache/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace convt_jit {
namespace {

std::error_code last_error() noexcept { return {errno, std::generic_category()}; }

std::uint64_t random_number() noexcept {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof number)) return number;
    static std::atomic<std::uint64_t> counter{0};  // early boot or an old kernel: unique within the process at least
    return counter.fetch_add(1) ^
           static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Letters, digits, dots and hyphens of the host's name; short enough that the whole name fits any file system.
std::string host_part() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
    std::string part;
    for (const char c : std::string_view(name.data()).substr(0, 64)) {
        const bool plain =
            (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
        part += plain ? c : '_';
    }
    return part.empty() ? "unknown" : part;
}

std::string temporary_name() { return fmt::format(".{}-{}-{:016x}.tmp", host_part(), ::getpid(), random_number()); }

// Removes a name unless told that it is gone.
class Removal {
public:
    Removal(int directory, const std::string& name) noexcept : directory_(directory), name_(name) {}
    Removal(const Removal&) = delete;
    Removal& operator=(const Removal&) = delete;
    ~Removal() {
        if (armed_) ::unlinkat(directory_, name_.c_str(), 0);
    }
    void cancel() noexcept { armed_ = false; }

private:
    int directory_;
    const std::string& name_;
    bool armed_ = true;
};

}  // namespace

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
    if (directory || error.value() != ENOENT) return directory;
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

std::error_code publish(const FileDescriptor& directory, const std::string& name, std::string_view bytes, mode_t mode) {
    const std::string temporary = temporary_name();
    std::error_code error;
    auto file = open_at(directory.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, error);
    if (!file) return error;
    Removal removal(directory.get(), temporary);
    if (error = write_whole(file, bytes); error) return error;
    // fchmod is not subject to the umask; some network file systems refuse it, and 0600 is then good enough.
    static_cast<void>(::fchmod(file.get(), mode));
    // Without it a crash of the machine can leave the name on an empty file (the checksum would catch that, at the
    // price of a compile). Some file systems know no fsync.
    if (::fsync(file.get()) != 0 && errno != EINVAL && errno != ENOSYS && errno != EROFS) return last_error();
    if (error = file.close(); error) return error;
    if (::renameat(directory.get(), temporary.c_str(), directory.get(), name.c_str()) != 0) return last_error();
    removal.cancel();
    return {};
}

}  // namespace convt_jit
