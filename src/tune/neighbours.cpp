#include "tune/neighbours.h"

#include <algorithm>

namespace convt_jit {

std::vector<std::string> plan_words(std::string_view plan) {
    std::vector<std::string> words;
    while (!plan.empty()) {
        const std::size_t end = std::min(plan.find(' '), plan.size());
        if (end > 0) words.emplace_back(plan.substr(0, end));
        plan.remove_prefix(std::min(end + 1, plan.size()));
    }
    return words;
}

std::optional<int> plan_distance(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    if (a.empty() || b.empty() || a.front() != b.front() || a.size() != b.size()) return std::nullopt;
    int different = 0;
    for (std::size_t i = 1; i < a.size(); ++i) different += a[i] != b[i] ? 1 : 0;
    return different;
}

}  // namespace convt_jit
