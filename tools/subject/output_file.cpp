#include "subject/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace convt_jit::tools {
namespace {

[[noreturn]] void fail(const std::string& path) {
    throw std::system_error(errno, std::generic_category(), "cannot write " + path);
}

class Descriptor {
public:
    Descriptor(int number, std::string path) : number_(number), path_(std::move(path)) {
        if (number_ < 0) fail(path_);
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;

    [[nodiscard]] int number() const { return number_; }
    void write(std::string_view content) const {
        while (!content.empty()) {
            const ssize_t count = ::write(number_, content.data(), content.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) fail(path_);
            content.remove_prefix(static_cast<std::size_t>(count));
        }
    }
    // The last chance to hear of a full disk.
    void close() {
        if (::close(std::exchange(number_, -1)) != 0) fail(path_);
    }

private:
    int number_;
    std::string path_;
};

// A name beside a file, removed unless it was given away.
struct TemporaryName {
    std::string path;
    ~TemporaryName() {
        if (!path.empty()) ::unlink(path.c_str());
    }
};

void replace(const std::string& path, std::string_view content, mode_t mode) {
    std::string pattern = path + ".XXXXXX";
    Descriptor file(::mkostemp(pattern.data(), O_CLOEXEC), path);
    TemporaryName temporary{pattern};
    file.write(content);
    if (::fchmod(file.number(), mode) != 0 || ::fsync(file.number()) != 0) fail(path);
    file.close();
    if (::rename(temporary.path.c_str(), path.c_str()) != 0) fail(path);
    temporary.path.clear();
}

// What the permissions of a new file would be; the mask can only be read by setting it.
mode_t default_mode() {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

// Where a chain of links ends that names no file yet.
std::string end_of_links(std::filesystem::path path) {
    std::error_code error;
    while (std::filesystem::is_symlink(std::filesystem::symlink_status(path, error)))
        path = path.parent_path() / std::filesystem::read_symlink(path);  // an absolute one replaces the whole
    return path.string();
}

// What a write is to replace, or to write to as it is.
struct Target {
    std::string path;
    bool regular = true;
    mode_t mode = 0;
};

// The open descriptor that a name stands for, as /dev/stdout and /proc/self/fd/1 do. What it leads to is written to,
// not replaced: whoever opened it would see nothing of that.
std::optional<int> descriptor_of(std::filesystem::path path) {
    std::error_code error;
    path = std::filesystem::absolute(path, error);
    const auto own = std::filesystem::canonical("/proc/self/fd", error);
    for (int links = 0; !error && links < 40; ++links) {
        if (std::filesystem::weakly_canonical(path.parent_path(), error) == own) {
            const std::string name = path.filename().string();
            int number = -1;
            const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
            if (wrong == std::errc() && end == name.data() + name.size()) return number;
        }
        if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) break;
        path = path.parent_path() / std::filesystem::read_symlink(path, error);
    }
    return std::nullopt;
}

Target target_of(const std::string& path) {
    if (descriptor_of(path)) return {path, false, 0};
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        if (errno != ENOENT) fail(path);
        return {end_of_links(path), true, default_mode()};
    }
    if (S_ISREG(status.st_mode)) return {std::filesystem::canonical(path).string(), true, status.st_mode & 07777};
    return {path, false, 0};
}

}  // namespace

void write_file(const std::string& path, std::string_view content) {
    if (path == "-") {
        Descriptor(::dup(STDOUT_FILENO), "standard output").write(content);
        return;
    }
    const Target target = target_of(path);
    if (target.regular) {
        replace(target.path, content, target.mode);
    } else {
        // Opened anew, a file would be written to from its beginning.
        const auto number = descriptor_of(path);
        Descriptor file(number ? ::dup(*number) : ::open(path.c_str(), O_WRONLY | O_CLOEXEC), path);
        file.write(content);
        file.close();
    }
}

std::string written_file(const std::string& path) {
    if (path == "-") return {};
    const Target target = target_of(path);
    return target.regular ? target.path : std::string();
}

void expect_writable(const std::string& path) {
    if (path == "-") return;
    const Target target = target_of(path);
    if (target.regular) {
        std::string pattern = target.path + ".XXXXXX";
        const Descriptor file(::mkostemp(pattern.data(), O_CLOEXEC), path);
        const TemporaryName temporary{pattern};
    } else if (std::filesystem::is_directory(path)) {
        errno = EISDIR;
        fail(path);
    } else if (::access(path.c_str(), W_OK) != 0) {  // a pipe must not be opened twice
        fail(path);
    }
}

}  // namespace convt_jit::tools
