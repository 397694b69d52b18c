#include "cache/usage.h"

#include "cache/layout.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <ctime>
#include <thread>

namespace convt_jit {
namespace {

constexpr std::int64_t kDay = 24 * 60 * 60;

std::optional<Usage> read(const FileDescriptor& file) {
    std::array<char, 128> text{};
    const auto length = ::pread(file.get(), text.data(), text.size(), 0);
    return length > 0 ? parse_usage(std::string_view(text.data(), static_cast<std::size_t>(length))) : std::nullopt;
}

void write(const FileDescriptor& file, const Usage& usage) {
    const std::string text = to_string(usage);
    static_cast<void>(::pwrite(file.get(), text.data(), text.size(), 0) < 0);
}

}  // namespace

// Of fixed width: a shorter number never leaves digits of a longer one behind.
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
    std::error_code error;
    const auto file = root.own_file(layout::kUsage, error);
    if (error) return std::nullopt;
    // Others hold it for two small calls; whoever is stopped in between shall not stop us. Closing ends it.
    for (int patience = 20; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && patience > 0;
         --patience)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto usage = read(file);
    if (!usage || !is_fresh(*usage, std::time(nullptr))) return std::nullopt;
    const auto old = static_cast<std::int64_t>(std::min<std::uint64_t>(usage->bytes, INT64_MAX / 2));
    usage->bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(old + bytes, 0));
    write(file, *usage);
    return usage;
}

void set_usage(const Root& root, std::uint64_t bytes) {
    std::error_code error;
    const auto file = root.own_file(layout::kUsage, error);
    if (!error) write(file, {bytes, std::time(nullptr)});
}

}  // namespace convt_jit
