#include "warmup/directory_watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace convt_jit::tools {

DirectoryWatch::DirectoryWatch(std::string path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

DirectoryWatch::~DirectoryWatch() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool DirectoryWatch::gone() const noexcept {
    struct stat then {
    }, now{};
    if (descriptor_ < 0 || ::fstat(descriptor_, &then) != 0) return false;
    return ::stat(path_.c_str(), &now) != 0 || now.st_dev != then.st_dev || now.st_ino != then.st_ino;
}

}  // namespace convt_jit::tools
