#include "report/rows.h"

#include "convt_jit/error.h"
#include "convt_jit/layer.h"

#include <algorithm>

namespace convt_jit::tools {
namespace {

using Json = nlohmann::ordered_json;

double number(const Json& row, const char* key) {
    const auto found = row.find(key);
    return found != row.end() && found->is_number() ? found->get<double>() : 0;
}

std::string text(const Json& row, const char* key) {
    const auto found = row.find(key);
    return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

ReportCandidate candidate(const Json& row) {
    ReportCandidate c{text(row, "plan"), text(row, "state"), text(row, "failure"), number(row, "ms")};
    if (c.state.empty()) c.state = c.failure.empty() ? "measured" : "failed";
    return c;
}

// Without a winner of its own the fastest candidate is the one.
void choose_winner(ReportRow& row) {
    if (row.ms > 0) return;
    for (const ReportCandidate& c : row.candidates)
        if (c.ms > 0 && c.failure.empty() && (row.ms == 0 || c.ms < row.ms)) {
            row.ms = c.ms;
            row.plan = c.plan;
        }
}

}  // namespace

std::string family_of(const std::string& plan) { return plan.substr(0, plan.find(' ')); }

ReportData read_report_data(const Json& file) {
    if (!file.is_object() || !file.contains("results") || !file["results"].is_array())
        throw Error("it is no file of `convt bench --json` or `convt autotune --json`: it has no list \"results\"");
    ReportData data;
    data.facts = {text(file, "card"),   text(file, "driver"),  text(file, "toolkit"),
                  text(file, "commit"), text(file, "command"), number(file, "copy_tb_per_s")};
    for (const Json& from : file["results"]) {
        if (!from.is_object()) throw Error("one of its results is no object");
        ReportRow row;
        row.name = text(from, "name");
        row.layer = text(from, "layer");
        if (row.name.empty()) row.name = row.layer;
        row.precision = text(from, "precision");
        if (row.precision.empty() && !row.layer.empty()) row.precision = precision_name(parse_layer(row.layer));
        row.plan = text(from, "plan");
        row.error = text(from, "error");
        row.ms = number(from, "ms");
        row.spread = number(from, "spread");
        row.speed_of_light_ms = number(from, "speed_of_light_ms");
        row.default_ms = number(from, "default_ms");
        row.default_plan = text(from, "default_plan");
        row.runner_up = text(from, "runner_up");
        row.runner_up_ms = number(from, "runner_up_ms");
        row.not_reached = static_cast<std::size_t>(number(from, "not_reached"));
        if (const auto found = from.find("candidates"); found != from.end() && found->is_array())
            for (const Json& c : *found) row.candidates.push_back(candidate(c));
        if (row.error.empty()) choose_winner(row);
        data.rows.push_back(std::move(row));
    }
    return data;
}

void add_baseline(ReportData& data, const Json& baseline) {
    const Json* rows = &baseline;
    if (baseline.is_object() && baseline.contains("results")) rows = &baseline["results"];
    if (!rows->is_array()) throw Error("--baseline: it has no list of results");
    for (ReportRow& row : data.rows)
        for (const Json& other : *rows)
            if (other.is_object() && text(other, "name") == row.name && text(other, "precision") == row.precision)
                if (const double ms = number(other, "ms"); ms > 0 && (row.baseline_ms == 0 || ms < row.baseline_ms))
                    row.baseline_ms = ms;
}

}  // namespace convt_jit::tools
