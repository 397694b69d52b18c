#include "cache/clock.h"

#include "cache/layout.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace convt_jit {
namespace {

constexpr Stamp kMinute = 60'000'000'000;
constexpr Stamp kInterval = std::chrono::nanoseconds(kStampInterval).count();

}  // namespace

CacheTime cache_time(const Root& root) noexcept {
    CacheTime time;
    time.wall = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
    struct stat status {};
    if (::fstatat(root.get(), layout::kClock, &status, AT_SYMLINK_NOFOLLOW) == 0) time.highest = stamp_of(status);
    return time;
}

std::optional<Stamp> next_stamp(Stamp old, const CacheTime& time) noexcept {
    if (time.set_back()) return time.now();  // ages mean nothing now; only a new highest stamp keeps the order
    if (old <= time.wall && time.wall - old < kInterval) return std::nullopt;
    return time.wall;
}

void advance(const Root& root, const CacheTime& time, Stamp given) noexcept {
    if (!time.set_back() && given - time.highest < kMinute) return;
    std::error_code error;
    const auto clock = root.own_file(layout::kClock, error);
    if (!error) static_cast<void>(set_stamp(clock, given));
}

}  // namespace convt_jit
