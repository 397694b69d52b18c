#include "warmup/report.h"

#include "subject/answer.h"
#include "subject/json_text.h"
#include "subject/message.h"
#include "subject/quantity.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace convt_jit::tools {
namespace {

using nlohmann::json;

json to_json(const Target& target) {
    return {{"name", target.named.name},
            {"layer", target.named.layer.kernel.empty() ? "" : to_string(target.named.layer)},
            {"arch", target.arch}};
}

// Of all layers and archs whose jobs ended so.
json list(const Report& report, State state) {
    json all = json::array();
    for (std::size_t i = 0; i < report.jobs.size(); ++i) {
        const JobResult& result = report.filling.results[i];
        if (result.state != state) continue;
        for (const Target& target : report.jobs[i].targets) {
            all.push_back(to_json(target));
            all.back().update({{"key", result.key}, {"why", result.why}});
            if (!result.reasons.empty()) all.back()["directories"] = to_json(result.reasons);
        }
    }
    return all;
}

// Found, and yet there is something that should have been found before.
bool passes_over(const JobResult& result) {
    return result.state == State::found && std::any_of(result.reasons.begin(), result.reasons.end(),
                                                       [](const NotServed& reason) { return !reason.path.empty(); });
}

// In lines of their own.
std::string reason_of(const JobResult& result) {
    if (result.state == State::failed) return fmt::format("  {}\n", shown(result.why));
    std::string lines;
    for (const NotServed& reason : result.reasons) lines += fmt::format("  {}\n", to_string(reason));
    return lines;
}

json list_passed_over(const Report& report) {
    json all = json::array();
    for (std::size_t i = 0; i < report.jobs.size(); ++i)
        if (const JobResult& result = report.filling.results[i]; passes_over(result)) {
            all.push_back(to_json(report.jobs[i].targets.front()));
            all.back().update({{"key", result.key}, {"directories", to_json(result.reasons)}});
        }
    return all;
}

}  // namespace

Tally count(const std::vector<JobResult>& results) noexcept {
    Tally tally;
    for (const JobResult& result : results) switch (result.state) {
            case State::left:
                ++tally.left;
                break;
            case State::compiled:
                ++tally.compiled;
                break;
            case State::found:
                ++tally.found;
                break;
            case State::missing:
                ++tally.missing;
                break;
            case State::failed:
                ++tally.failed;
                break;
        }
    return tally;
}

void print_text(const Report& report) {
    std::string said;
    for (std::size_t i = 0; i < report.jobs.size(); ++i) {
        const JobResult& result = report.filling.results[i];
        if (result.state != State::failed && result.state != State::missing && !passes_over(result)) continue;
        for (const Target& target : report.jobs[i].targets)
            fmt::print("{}  {}{}\n",
                       result.state == State::failed    ? "FAILED "
                       : result.state == State::missing ? "missing"
                                                        : "found  ",
                       to_string(target), result.state == State::found ? ", after passing over" : "");
        // Without a compiler all fail alike, and most are missing alike; the reason is long and is told once.
        const std::string why = reason_of(result);
        if (why != said) fmt::print("{}", why);
        said = why;
    }
    const Tally tally = count(report.filling.results);
    std::size_t targets = 0;
    for (const Job& job : report.jobs) targets += job.targets.size();
    fmt::print("{} for {}: ", counted(report.jobs.size(), "kernel", "kernels"),
               counted(targets, "layer and arch", "layers and archs"));
    if (report.checked)
        fmt::print("{} in the cache, {} missing, {} failed\n", tally.found, tally.missing, tally.failed);
    else
        fmt::print("{} compiled, {} found, {} failed{} in {}\n", tally.compiled, tally.found, tally.failed,
                   tally.left == 0 ? "" : fmt::format(", {} left", tally.left), format_duration(report.seconds));
    if (report.filling.peak_bytes > 0)
        fmt::print("at most {} at a time, {} each\n", report.filling.jobs, format_bytes(report.filling.peak_bytes));
    if (report.interrupted) fmt::print("interrupted; the same command goes on from here\n");
}

void print_json(const Report& report) {
    const Tally tally = count(report.filling.results);
    std::size_t targets = 0;
    for (const Job& job : report.jobs) targets += job.targets.size();
    json answer = {{"kernels", report.jobs.size()},
                   {"targets", targets},
                   {"compiled", tally.compiled},
                   {"hits", tally.found},
                   {"missing", tally.missing},
                   {"failed", tally.failed},
                   {"left", tally.left},
                   {"interrupted", report.interrupted},
                   {"seconds", report.seconds},
                   {"jobs", report.filling.jobs},
                   {"peak_bytes", report.filling.peak_bytes},
                   {"bytes", report.capacity.needed},
                   {"max_bytes", report.capacity.cap},
                   {"over_cap", report.capacity.exceeded()},
                   {"failures", list(report, State::failed)},
                   {"missing_layers", list(report, State::missing)},
                   {"passed_over", list_passed_over(report)}};
    if (!report.onnx.empty()) answer["onnx"] = report.onnx;
    std::vector<std::string> troubles;
    const auto add = [&](std::size_t number, const char* what) {
        if (number > 0) troubles.push_back(counted(number, "kernel", "kernels") + " " + what);
    };
    add(tally.failed, "failed");
    add(tally.missing, "missing");
    add(tally.left, "left");
    if (report.capacity.exceeded() && !report.checked) troubles.emplace_back("the cache's cap is too small for all");
    add_error(answer, joined(troubles));
    print(answer);
}

std::string manifest(const std::vector<Job>& jobs, const std::vector<JobResult>& results) {
    std::string lines;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (results[i].state != State::compiled && results[i].state != State::found) continue;
        for (const Target& target : jobs[i].targets)
            lines += json_text(json{{"name", target.named.name},
                                    {"layer", to_string(target.named.layer)},
                                    {"arch", target.arch},
                                    {"compiled_for", jobs[i].wanted->fields.arch},
                                    {"key", results[i].key},
                                    {"plan", jobs[i].wanted->plan}},
                               -1) +
                     "\n";
    }
    return lines;
}

}  // namespace convt_jit::tools
