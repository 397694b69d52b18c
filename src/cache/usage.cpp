#include "cache/usage.h"

#include "cache/key_lock.h"
#include "cache/layout.h"
#include "cache/temporary.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <thread>

namespace convt_jit {
namespace {

constexpr std::int64_t kDay = 24 * 60 * 60;

std::optional<Usage> read(const Root& root) {
    std::error_code error;
    const auto file = root.file(root.directory(), layout::kUsage, error);
    if (error) return std::nullopt;
    std::array<char, 128> text{};
    const auto length = ::pread(file.get(), text.data(), text.size(), 0);
    return length > 0 ? parse_usage(std::string_view(text.data(), static_cast<std::size_t>(length))) : std::nullopt;
}

// In the place of whatever is there: nothing of an older or longer file is left, and nobody reads half of it. What a
// crash of the machine makes of it is counted anew, so it need not be flushed.
void write(const Root& root, const Usage& usage) {
    static_cast<void>(
        publish(root.directory(), layout::kUsage, to_string(usage), root.file_mode(), std::nullopt, Flush::no));
}

}  // namespace

// Of fixed width: what is longer or shorter is no estimate.
std::string to_string(const Usage& usage) { return fmt::format("{:020} {:020}\n", usage.bytes, usage.counted_at); }

std::optional<Usage> parse_usage(std::string_view text) noexcept {
    if (text.size() != 42 || text[20] != ' ' || text[41] != '\n') return std::nullopt;
    Usage usage;
    const auto number = [&](std::size_t at, auto& value) {
        const char* const begin = text.data() + at;
        const auto [end, error] = std::from_chars(begin, begin + 20, value);
        return error == std::errc() && end == begin + 20;
    };
    return number(0, usage.bytes) && number(21, usage.counted_at) ? std::optional(usage) : std::nullopt;
}

bool is_fresh(const Usage& usage, std::int64_t now) noexcept {
    return usage.counted_at <= now && now - usage.counted_at < kDay;
}

std::optional<Usage> add_usage(const Root& root, std::int64_t bytes) {
    // Others hold it for a few small calls; whoever is stopped in between shall not stop us.
    KeyLock lock(root);
    for (int patience = 20; lock.try_lock_usage() == LockState::busy && patience > 0; --patience)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto usage = read(root);
    if (!usage || !is_fresh(*usage, std::time(nullptr))) return std::nullopt;
    const auto old = static_cast<std::int64_t>(std::min<std::uint64_t>(usage->bytes, INT64_MAX / 2));
    usage->bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(old + bytes, 0));
    write(root, *usage);
    return usage;
}

void set_usage(const Root& root, std::uint64_t bytes) { write(root, {bytes, std::time(nullptr)}); }

}  // namespace convt_jit
