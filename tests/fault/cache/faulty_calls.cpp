// Faulty calls: preloaded, makes system calls fail as network file systems do.
//   FAULTY_CALLS="renameat=16,flock=37"  which ones, with which errno ("short" for read and write: one byte at a time)
//   FAULTY_TIMES=2                       how often each fails before it works; unset: always
//   FAULTY_PATH=.cubin                   only where the (first) path contains this
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::atomic<int> failures{0};

template <class Function>
Function real(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// What a call shall fail with; empty where it shall work.
std::string fault(const char* call, const char* path = nullptr) {
    const char* const calls = std::getenv("FAULTY_CALLS");
    if (calls == nullptr) return {};
    if (const char* part = std::getenv("FAULTY_PATH"); part != nullptr && path != nullptr)
        if (std::strstr(path, part) == nullptr) return {};
    const std::string list = std::string(",") + calls + ",", name = std::string(",") + call + "=";
    const auto found = list.find(name);
    if (found == std::string::npos) return {};
    if (const char* times = std::getenv("FAULTY_TIMES"); times != nullptr && failures.fetch_add(1) >= std::atoi(times))
        return {};
    const auto begin = found + name.size();
    return list.substr(begin, list.find(',', begin) - begin);
}

bool fails(const char* call, const char* path = nullptr) {
    const std::string with = fault(call, path);
    if (with.empty() || with == "short") return false;
    errno = std::atoi(with.c_str());
    return true;
}

}  // namespace

extern "C" {

int openat(int at, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails("openat", path) ? -1 : real<int (*)(int, const char*, int, mode_t)>("openat")(at, path, flags, mode);
}

int renameat(int from_at, const char* from, int to_at, const char* to) {
    return fails("renameat", from)
               ? -1
               : real<int (*)(int, const char*, int, const char*)>("renameat")(from_at, from, to_at, to);
}

int mkdirat(int at, const char* path, mode_t mode) {
    return fails("mkdirat", path) ? -1 : real<int (*)(int, const char*, mode_t)>("mkdirat")(at, path, mode);
}

int flock(int file, int operation) { return fails("flock") ? -1 : real<int (*)(int, int)>("flock")(file, operation); }

int fcntl(int file, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    const bool locks = command == F_OFD_SETLK || command == F_OFD_SETLKW;
    return locks && fails("fcntl") ? -1 : real<int (*)(int, int, void*)>("fcntl")(file, command, argument);
}

int fsync(int file) { return fails("fsync") ? -1 : real<int (*)(int)>("fsync")(file); }

int futimens(int file, const timespec times[2]) {
    return fails("futimens") ? -1 : real<int (*)(int, const timespec*)>("futimens")(file, times);
}

// Fails as the last close of a file on a network does: it is closed all the same.
int close(int file) {
    const bool failing = fails("close");
    const int error = errno;
    const int result = real<int (*)(int)>("close")(file);
    errno = failing ? error : errno;
    return failing ? -1 : result;
}

ssize_t write(int file, const void* bytes, size_t count) {
    const std::string with = fault("write");
    if (with == "short") count = count > 0 ? 1 : 0;
    if (!with.empty() && with != "short") {
        errno = std::atoi(with.c_str());
        return -1;
    }
    return real<ssize_t (*)(int, const void*, size_t)>("write")(file, bytes, count);
}

ssize_t read(int file, void* bytes, size_t count) {
    const std::string with = fault("read");
    if (with == "short") count = count > 0 ? 1 : 0;
    if (!with.empty() && with != "short") {
        errno = std::atoi(with.c_str());
        return -1;
    }
    return real<ssize_t (*)(int, void*, size_t)>("read")(file, bytes, count);
}
}
