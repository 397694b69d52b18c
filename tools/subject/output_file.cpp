#include "subject/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
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

}  // namespace

void write_file(const std::string& path, std::string_view content) {
    if (path == "-") {
        Descriptor(::dup(STDOUT_FILENO), "standard output").write(content);
        return;
    }
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        if (errno != ENOENT) fail(path);
        replace(path, content, default_mode());
    } else if (S_ISREG(status.st_mode)) {
        replace(std::filesystem::canonical(path).string(), content, status.st_mode & 07777);
    } else {
        Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC), path);
        file.write(content);
        file.close();
    }
}

}  // namespace convt_jit::tools
