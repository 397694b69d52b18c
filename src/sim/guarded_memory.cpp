#include "sim/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <system_error>

namespace convt_jit::sim {
namespace {

// Wide, so that an index that is far off still lands here and not in somebody's memory. Only addresses are used up.
constexpr std::size_t kGuardBytes = std::size_t{64} << 20;
constexpr std::size_t kAlignment = 16;
constexpr char kPoison = static_cast<char>(0xff);

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes) : bytes_(bytes) {
    usable_bytes_ = round_up(bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
    mapped_ = usable_bytes_ + 2 * kGuardBytes;
    mapping_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of guarded memory");
    usable_ = static_cast<char*>(mapping_) + kGuardBytes;
    if (usable_bytes_ != 0 && mprotect(usable_, usable_bytes_, PROT_READ | PROT_WRITE) != 0) {
        const int error = errno;
        munmap(mapping_, mapped_);
        throw std::system_error(error, std::generic_category(), "mprotect of guarded memory");
    }
    begin_ = usable_ + usable_bytes_ - round_up(bytes, kAlignment);
}

GuardedMemory::~GuardedMemory() { munmap(mapping_, mapped_); }

void GuardedMemory::poison() noexcept { std::memset(usable_, kPoison, usable_bytes_); }

bool GuardedMemory::surrounds(const void* address) const noexcept {
    const std::less<const void*> before;
    return !before(address, mapping_) && before(address, static_cast<char*>(mapping_) + mapped_);
}

bool GuardedMemory::contains(const void* address, std::size_t bytes) const noexcept {
    if (!surrounds(address)) return false;
    const std::ptrdiff_t offset = static_cast<const char*>(address) - begin_;
    return offset >= 0 && static_cast<std::size_t>(offset) <= bytes_ &&
           bytes_ - static_cast<std::size_t>(offset) >= bytes;
}

const char* GuardedMemory::written_margin() const noexcept {
    const auto written = [](const char* begin, const char* end) -> const char* {
        // All bytes are alike where each equals the next.
        const auto bytes = static_cast<std::size_t>(end - begin);
        if (bytes == 0 || (*begin == kPoison && std::memcmp(begin, begin + 1, bytes - 1) == 0)) return nullptr;
        return std::find_if(begin, end, [](char byte) { return byte != kPoison; });
    };
    if (const char* before = written(usable_, begin_)) return before;
    return written(begin_ + bytes_, usable_ + usable_bytes_);
}

}  // namespace convt_jit::sim
