// Neighbours: how far plans lie apart, by the words of their strings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

// A plan string in its words, the family first.
[[nodiscard]] std::vector<std::string> plan_words(std::string_view plan);
// How many words differ; nothing between families, whose words mean different things.
[[nodiscard]] std::optional<int> plan_distance(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace convt_jit
