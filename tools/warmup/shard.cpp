#include "warmup/shard.h"

#include "subject/usage_error.h"

#include <fmt/format.h>

#include <charconv>

namespace convt_jit::tools {

Shard parse_shard(std::string_view text) {
    Shard shard;
    const char* const end = text.data() + text.size();
    const auto index = std::from_chars(text.data(), end, shard.index);
    if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
        const auto count = std::from_chars(index.ptr + 1, end, shard.count);
        if (count.ec == std::errc() && count.ptr == end && shard.index < shard.count) return shard;
    }
    throw UsageError(
        fmt::format("--shard: \"{}\" is no part; allowed: I/N with I from 0 to N-1, such as 0/8 to 7/8", text));
}

}  // namespace convt_jit::tools
