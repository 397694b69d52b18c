// Tuning: one layer's search on a card, from candidates to a winner.
#pragma once

#include "autotune/journal.h"
#include "autotune/measurer.h"
#include "subject/progress.h"

#include <string>
#include <vector>

namespace convt_jit::tools {

struct TuningOptions {
    double budget_seconds = 30;  // of each layer
    bool exhaustive = false;
    std::size_t jobs = 1;                       // compilers at a time
    std::vector<std::string> worker_arguments;  // of compilers
};

// Plans of a file, one a line, empty ones left out. Throws Error where it cannot be read.
[[nodiscard]] std::vector<std::string> read_plans(const std::string& path);

// The default plan, then `first`, then the best modelled ones, at most so many of each family; each once. Families: all
// where empty; the default stays, since all is told against it.
[[nodiscard]] std::vector<ModelledPlan> tuning_candidates(const Layer& layer, const std::string& arch,
                                                          const std::vector<std::string>& first,
                                                          const std::vector<std::string>& families,
                                                          std::size_t most_per_family);

[[nodiscard]] Tuned tune(const Layer& layer, const std::string& arch, const std::vector<ModelledPlan>& plans,
                         const TuningOptions& options, Measurer& measurer, Journal& journal, Progress& progress);

}  // namespace convt_jit::tools
