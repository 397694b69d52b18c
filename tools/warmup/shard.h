// Shard: one of N equal parts of the work. Pure functions.
#pragma once

#include <cstddef>
#include <string_view>

namespace convt_jit::tools {

struct Shard {
    std::size_t index = 0, count = 1;

    // Every count-th kernel: which ones depends on their order alone, never on what is cached, so that the shards of
    // one command are disjoint and together the whole, whenever and however often each of them runs. Neighbours, which
    // often take alike long, go to different shards.
    [[nodiscard]] bool takes(std::size_t position) const noexcept { return position % count == index; }
};

// "0/8" to "7/8". Throws UsageError.
[[nodiscard]] Shard parse_shard(std::string_view text);

}  // namespace convt_jit::tools
