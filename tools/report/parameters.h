// Parameters: which words of a plan its time hangs on, from the candidates that were measured.
#pragma once

#include "report/rows.h"

#include <string>
#include <vector>

namespace convt_jit::tools {

struct ParameterEffect {
    std::string key, value;  // of the winner
    double explained = 0;    // share of the variance of log times that goes with this word alone
    std::string best_other;  // the other value that the fastest candidate without the winner's has; empty: none
    double best_other_ms = 0;
};

// Of the winner's family, those that explain most first. Empty where fewer than three candidates were measured.
[[nodiscard]] std::vector<ParameterEffect> parameter_effects(const std::string& winner,
                                                             const std::vector<ReportCandidate>& candidates);

struct Change {
    std::string key, from, to;
};
// The words in which two plans of one family differ; empty for plans of two families.
[[nodiscard]] std::vector<Change> changes(const std::string& from, const std::string& to);

}  // namespace convt_jit::tools
