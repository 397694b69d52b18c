#include "cache/key_lock.h"

#include "cache/layout.h"

#include <fcntl.h>

#include <cerrno>
#include <charconv>

namespace convt_jit {
namespace {

constexpr std::int64_t kTrim = std::int64_t{1} << 62, kUsage = kTrim + 1, kImport = kTrim + 2;

// 60 bits of the digest: a collision costs a wait, nothing else.
std::int64_t offset_of(std::string_view key) noexcept {
    std::int64_t offset = 0;
    std::from_chars(key.begin(), key.begin() + std::min<std::size_t>(key.size(), 15), offset, 16);
    return offset;
}

struct flock range(short type, std::int64_t offset) noexcept {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = offset;
    lock.l_len = 1;
    return lock;
}

}  // namespace

KeyLock::KeyLock(const Root& root) { file_ = root.own_file(layout::kLock, error_); }

KeyLock::~KeyLock() {
    if (!held_ || !file_) return;
    // Explicitly: a forked child shares the description, and closing our number alone would leave the lock with it.
    auto lock = range(F_UNLCK, *held_);
    static_cast<void>(::fcntl(file_.get(), F_OFD_SETLK, &lock));
}

LockState KeyLock::try_lock(std::string_view key) noexcept { return try_lock_at(offset_of(key)); }

LockState KeyLock::try_lock_trim() noexcept { return try_lock_at(kTrim); }

LockState KeyLock::try_lock_usage() noexcept { return try_lock_at(kUsage); }

LockState KeyLock::try_lock_import() noexcept { return try_lock_at(kImport); }

LockState KeyLock::try_lock_at(std::int64_t offset) noexcept {
    if (!file_) return LockState::useless;
    auto lock = range(F_WRLCK, offset);
    while (::fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) {
        if (errno == EINTR) continue;
        return errno == EAGAIN || errno == EACCES ? LockState::busy : LockState::useless;
    }
    held_ = offset;
    return LockState::held;
}

}  // namespace convt_jit
