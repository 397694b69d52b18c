// Clock: the cache's own time, for "least recently used". It never runs backwards: where the machine's clock was set
// back, stamps go on from the highest one given, so that their order stays that of use.
#pragma once

#include "cache/root.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

namespace convt_jit {

using Stamp = std::int64_t;  // ns since the epoch

inline constexpr std::chrono::minutes kStampInterval{10};

struct CacheTime {
    Stamp wall = 0;     // the machine's clock
    Stamp highest = 0;  // highest stamp given in this cache; 0 where unknown
    [[nodiscard]] bool set_back() const noexcept { return wall < highest; }
    [[nodiscard]] Stamp now() const noexcept { return set_back() ? std::min(highest, INT64_MAX - 1) + 1 : wall; }
};

[[nodiscard]] CacheTime cache_time(const Root& root) noexcept;

// The stamp that a use gives to an entry that carries `old`. Nothing where a fresh one would tell nothing new: an
// entry in steady use is stamped once per interval, not once per use.
[[nodiscard]] std::optional<Stamp> next_stamp(Stamp old, const CacheTime& time) noexcept;

// Remembers that a stamp was given.
void advance(const Root& root, const CacheTime& time, Stamp given) noexcept;

}  // namespace convt_jit
