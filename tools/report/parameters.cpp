#include "report/parameters.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

namespace convt_jit::tools {
namespace {

// The key=value words in their order.
std::vector<std::pair<std::string, std::string>> words(const std::string& plan) {
    std::vector<std::pair<std::string, std::string>> result;
    std::istringstream in(plan);
    for (std::string word; in >> word;)
        if (const auto equals = word.find('='); equals != std::string::npos)
            result.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    return result;
}

struct Sum {
    double of = 0, count = 0;
    [[nodiscard]] double mean() const { return of / count; }
};

}  // namespace

std::vector<ParameterEffect> parameter_effects(const std::string& winner,
                                               const std::vector<ReportCandidate>& candidates) {
    struct Point {
        std::map<std::string, std::string> value;
        double ms, log_ms;
    };
    std::vector<Point> points;
    Sum all;
    for (const ReportCandidate& c : candidates) {
        if (!(c.ms > 0) || !c.failure.empty() || family_of(c.plan) != family_of(winner)) continue;
        Point point{{}, c.ms, std::log(c.ms)};
        for (auto& [key, value] : words(c.plan)) point.value[key] = value;
        all.of += point.log_ms;
        ++all.count;
        points.push_back(std::move(point));
    }
    if (points.size() < 3) return {};
    double total = 0;
    for (const Point& p : points) total += (p.log_ms - all.mean()) * (p.log_ms - all.mean());
    std::vector<ParameterEffect> effects;
    for (const auto& [key, value] : words(winner)) {
        std::map<std::string, Sum> groups;
        ParameterEffect effect{key, value, 0, "", 0};
        for (Point& p : points) {
            Sum& group = groups[p.value[key]];
            group.of += p.log_ms;
            ++group.count;
            if (p.value[key] != value && (effect.best_other_ms == 0 || p.ms < effect.best_other_ms)) {
                effect.best_other_ms = p.ms;
                effect.best_other = p.value[key];
            }
        }
        if (groups.size() < 2 || total <= 0) continue;
        for (const auto& [other, group] : groups)
            effect.explained += group.count * (group.mean() - all.mean()) * (group.mean() - all.mean()) / total;
        effects.push_back(std::move(effect));
    }
    std::stable_sort(effects.begin(), effects.end(),
                     [](const auto& a, const auto& b) { return a.explained > b.explained; });
    return effects;
}

std::vector<Change> changes(const std::string& from, const std::string& to) {
    if (family_of(from) != family_of(to)) return {};
    std::map<std::string, std::string> before;
    for (auto& [key, value] : words(from)) before[key] = value;
    std::vector<Change> result;
    for (auto& [key, value] : words(to))
        if (before[key] != value) result.push_back({key, before[key], value});
    return result;
}

}  // namespace convt_jit::tools
