// Rows: the layers of result files, of `convt bench` and of `convt autotune` alike, as a report needs them.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace convt_jit::tools {

struct ReportCandidate {
    std::string plan, state, failure;
    double ms = 0;  // 0: not measured
};

struct ReportRow {
    std::string name, layer, precision, plan, error;
    double ms = 0, spread = 0;     // 0: it failed
    double speed_of_light_ms = 0;  // 0: not known
    double default_ms = 0;         // 0: no tuning, or the default failed
    double baseline_ms = 0;        // 0: none given
    std::string default_plan, runner_up;
    double runner_up_ms = 0;
    std::size_t not_reached = 0;
    std::vector<ReportCandidate> candidates;  // empty: no tuning
};

struct ReportFacts {
    std::string card, driver, toolkit, commit, command;
    double copy_tb_per_s = 0;
};

struct ReportData {
    ReportFacts facts;
    std::vector<ReportRow> rows;
};

// The first word of a plan.
[[nodiscard]] std::string family_of(const std::string& plan);

// Fields that a file lacks stay empty; layers are named by their strings where they have no name. Throws Error where it
// is no result file.
[[nodiscard]] ReportData read_report_data(const nlohmann::ordered_json& file);
// Each row's fastest counterpart of the same name and precision in a file of `bench/compare_torch.py measure`.
void add_baseline(ReportData& data, const nlohmann::ordered_json& baseline);

}  // namespace convt_jit::tools
