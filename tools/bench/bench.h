// `convt bench`: how fast layers run, against the speed of light.
#pragma once

#include "report/report.h"
#include "subject/choice.h"

#include <CLI/CLI.hpp>

#include <string>

namespace convt_jit::tools {

struct BenchOptions {
    LayerChoice layers;
    PlanChoice plan;
    ReportChoice report;
    std::string json, filter, dtype;
    int repeats = 25;
    bool pack_each_time = false;
};

// What to type into a shell for the same figures; where they are written to is left out.
[[nodiscard]] std::string command_line(const BenchOptions& options);

void add_bench(CLI::App& app, int& status);

}  // namespace convt_jit::tools
