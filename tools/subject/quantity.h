// Quantity: bytes, durations, dates and shares as people write and read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace convt_jit::tools {

// Seconds of "45s", "90m", "12h", "30d", "2w". Without a unit nobody knows what was meant.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text) noexcept;

// "17 bytes", "1.5 MB" (powers of 1024)
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);
// "1 entry", "2 entries"
[[nodiscard]] std::string counted(std::size_t count, const char* one, const char* many);
// "8 s", "3 min 20 s", "2 h 5 min", "4 d 3 h"
[[nodiscard]] std::string format_duration(double seconds);
// "[#####-----]": that many of the cells are full.
[[nodiscard]] std::string format_bar(std::size_t full, std::size_t cells);
// "2026-03-01 12:00:00Z" of seconds since 1970; "never" for zero
[[nodiscard]] std::string format_date(double seconds);

}  // namespace convt_jit::tools
