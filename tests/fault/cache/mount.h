// Mount: a file system of its own for a test, and a child process for what must not stay with the test program.
#pragma once

#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>

namespace convt_jit::sample {

// Exit codes of a child: limits, user ids and mounts must not stay with the test program.
constexpr int kRight = 0, kWrong = 1, kNotPossible = 77;

inline int in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return kWrong;
    return WEXITSTATUS(status);
}

// A file system of its own under `path`, gone with the object.
class Mount {
public:
    Mount(std::string path, const char* type, const char* data) : path_(std::move(path)) {
        std::filesystem::create_directories(path_);
        mounted_ = ::mount("none", path_.c_str(), type, 0, data) == 0;
    }
    // Another view of a directory.
    Mount(std::string path, const std::string& of) : path_(std::move(path)) {
        std::filesystem::create_directories(path_);
        mounted_ = ::mount(of.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) == 0;
    }
    Mount(const Mount&) = delete;
    Mount& operator=(const Mount&) = delete;
    ~Mount() {
        if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
    }
    [[nodiscard]] explicit operator bool() const { return mounted_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] bool make_read_only(unsigned long more = 0) const {
        return ::mount("none", path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY | more, nullptr) == 0;
    }

private:
    std::string path_;
    bool mounted_ = false;
};

}  // namespace convt_jit::sample
