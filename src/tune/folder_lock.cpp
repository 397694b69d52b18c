#include "tune/folder_lock.h"

#include "log/log.h"

#include <sys/file.h>

#include <cerrno>
#include <thread>

namespace convt_jit {

FolderLock::FolderLock(const FileDescriptor& folder, std::chrono::milliseconds wait) : folder_(folder) {
    const auto end = std::chrono::steady_clock::now() + wait;
    while (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno != EWOULDBLOCK) {
            log::warning_once("tuning records are written without a lock: " + last_error().message());
            return;
        }
        busy_ = std::chrono::steady_clock::now() >= end;
        if (busy_) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    held_ = true;
}

FolderLock::~FolderLock() {
    // Explicitly: a forked child shares the lock.
    if (held_) static_cast<void>(::flock(folder_.get(), LOCK_UN));
}

}  // namespace convt_jit
