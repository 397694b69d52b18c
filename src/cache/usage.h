// Usage: how many bytes a cache holds, without counting them at every put. A running estimate in one small file; it is
// counted anew when it is missing, a day old or about to cause a trim.
#pragma once

#include "cache/root.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace convt_jit {

struct Usage {
    std::uint64_t bytes = 0;
    std::int64_t counted_at = 0;  // seconds since the epoch
    friend bool operator==(const Usage&, const Usage&) = default;
};

[[nodiscard]] std::string to_string(const Usage& usage);
[[nodiscard]] std::optional<Usage> parse_usage(std::string_view text) noexcept;
// Whether an estimate still serves at that time (seconds since the epoch).
[[nodiscard]] bool is_fresh(const Usage& usage, std::int64_t now) noexcept;

// Adds to the estimate and returns it; nothing where there is none that serves. Updates of other processes may get lost
// where locks do not work: the next count mends that.
[[nodiscard]] std::optional<Usage> add_usage(const Root& root, std::int64_t bytes);
void set_usage(const Root& root, std::uint64_t bytes);

}  // namespace convt_jit
