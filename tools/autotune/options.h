// Options: what the command line of `convt autotune` asks for.
#pragma once

#include "report/report.h"
#include "subject/choice.h"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace convt_jit::tools {

struct AutotuneOptions {
    LayerChoice layers;
    std::string json, journal, dtype, plans, surface, records, budget = "30s";
    std::optional<std::string> cache;
    ReportChoice report;
    std::vector<std::string> families, merge;
    std::size_t most = 1000;
    int jobs = 0;
    double patience = 20;  // seconds
    bool pack_each_time = false, plain_launches = false, exhaustive = false;

    void add_to(CLI::App& command);
};

// Empty: none is kept.
[[nodiscard]] std::string journal_of(const AutotuneOptions& options);

// Where records go: empty where they go nowhere. What was measured on a card that is made up is nobody's record, unless
// somebody asks for it.
[[nodiscard]] std::string records_path(const AutotuneOptions& options);

}  // namespace convt_jit::tools
