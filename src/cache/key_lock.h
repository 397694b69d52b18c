// KeyLock: at most one process at a time compiles a key. A byte range of one file per key: nothing to clean up, no
// inode per kernel, and the kernel frees it at once when its holder dies.
#pragma once

#include "cache/root.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace convt_jit {

enum class LockState {
    held,    // by this object
    busy,    // by somebody else
    useless  // locks do not work here
};

class KeyLock {
public:
    // Also conflicts with other objects of this very process (open file description locks).
    explicit KeyLock(const Root& root);
    KeyLock(KeyLock&&) noexcept = default;
    KeyLock& operator=(KeyLock&&) = delete;
    ~KeyLock();

    // Why its file cannot be used.
    [[nodiscard]] const std::error_code& error() const noexcept { return error_; }
    // Does not wait.
    [[nodiscard]] LockState try_lock(std::string_view key) noexcept;
    // Locks of their own that no key shares.
    [[nodiscard]] LockState try_lock_trim() noexcept;
    [[nodiscard]] LockState try_lock_usage() noexcept;
    [[nodiscard]] LockState try_lock_import() noexcept;

private:
    LockState try_lock_at(std::int64_t offset) noexcept;

    std::error_code error_;
    FileDescriptor file_;
    std::optional<std::int64_t> held_;
};

}  // namespace convt_jit
