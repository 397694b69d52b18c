#include "sim/work_directory.h"

#include "convt_jit/error.h"
#include "log/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

namespace convt_jit::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "convt_jit_sim_";
constexpr const char* kKept = "kept";  // an empty file that marks a directory

int open_directory(const fs::path& path) {
    return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// The process in "convt_jit_sim_4711_a1B2c3"; 0 where the name is none of ours.
pid_t owner(std::string_view name) {
    if (name.substr(0, kPrefix.size()) != kPrefix) return 0;
    name.remove_prefix(kPrefix.size());
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    return error == std::errc() && end != name.data() + name.size() && *end == '_' && pid > 0 ? pid : 0;
}

bool is_running(pid_t pid) { return ::kill(pid, 0) == 0 || errno != ESRCH; }

// Ours, and its lock can be had: a process of another container that shares the directory holds it, though its number
// means nothing here. Where the file system knows no locks nothing is abandoned.
bool is_abandoned(const fs::path& path) {
    const int directory = open_directory(path);
    if (directory < 0) return false;
    struct stat status {};
    const bool free = ::fstat(directory, &status) == 0 && status.st_uid == ::geteuid() &&
                      ::flock(directory, LOCK_EX | LOCK_NB) == 0 && ::faccessat(directory, kKept, F_OK, 0) != 0;
    ::close(directory);
    return free;
}

}  // namespace

WorkDirectory::WorkDirectory() {
    std::error_code error;
    fs::path parent = fs::temp_directory_path(error);
    if (error) parent = "/tmp";
    static std::once_flag swept;
    std::call_once(swept, [&] {
        if (const std::size_t count = sweep_work_directories(parent); count > 0)
            log::info("removed {} directories that killed processes left in {}", count, parent.string());
    });
    std::string name = (parent / fmt::format("{}{}_XXXXXX", kPrefix, ::getpid())).string();
    if (mkdtemp(name.data()) == nullptr)
        throw CompileError(fmt::format("cannot make a directory in {} to compile in: {}; TMPDIR names another place",
                                       parent.string(), std::strerror(errno)),
                           {});
    path_ = name;
    lock_ = open_directory(path_);
    if (lock_ >= 0) static_cast<void>(::flock(lock_, LOCK_SH | LOCK_NB));
}

WorkDirectory::~WorkDirectory() {
    if (!kept_) {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    if (lock_ >= 0) ::close(lock_);
}

void WorkDirectory::keep() {
    kept_ = true;
    const std::ofstream mark(path_ / kKept);
}

std::size_t sweep_work_directories(const fs::path& parent) {
    std::size_t count = 0;
    std::error_code error;
    for (fs::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
        const pid_t pid = owner(entry->path().filename().string());
        if (pid == 0 || is_running(pid) || !is_abandoned(entry->path())) continue;
        std::error_code failed;
        fs::remove_all(entry->path(), failed);
        if (!failed) ++count;
    }
    return count;
}

}  // namespace convt_jit::sim
