// Producer: which compiler made an entry, and which ones a lookup accepts.
#pragma once

#include "convt_jit/cache.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

// "exact", "same-major", "any"
[[nodiscard]] std::optional<ProducerPolicy> parse_producer_policy(std::string_view text) noexcept;
[[nodiscard]] std::string_view to_string(ProducerPolicy policy) noexcept;

// "nvrtc 13.0.88" as its name and numbers.
struct ProducerVersion {
    std::string name;
    std::vector<unsigned> numbers;
    friend auto operator<=>(const ProducerVersion&, const ProducerVersion&) = default;
};
[[nodiscard]] ProducerVersion parse_producer(std::string_view producer);

// The producers whose entries serve, best first: the wanted one, then those the policy allows, newest first.
// `wanted` is empty where nobody knows which compiler would compile (none is installed, or it was not opened yet):
// there is nothing to differ from then, and every known producer serves.
[[nodiscard]] std::vector<std::string> acceptable_producers(ProducerPolicy policy, const std::string& wanted,
                                                            std::vector<std::string> known);

}  // namespace convt_jit
