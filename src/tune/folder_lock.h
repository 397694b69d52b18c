// FolderLock: one writer at a time. The folder itself is locked, so that nothing is left behind.
#pragma once

#include "cache/file.h"

#include <chrono>

namespace convt_jit {

class FolderLock {
public:
    // Waits until the other writers are done, which takes milliseconds, or `wait` is over. Where the file system has no
    // locks it goes on without, after a warning: a finding that another machine writes in that instant may be lost.
    FolderLock(const FileDescriptor& folder, std::chrono::milliseconds wait);
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;
    ~FolderLock();

    // False: somebody else holds it still.
    [[nodiscard]] explicit operator bool() const noexcept { return !busy_; }

private:
    const FileDescriptor& folder_;
    bool held_ = false, busy_ = false;
};

}  // namespace convt_jit
