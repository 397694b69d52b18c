// Report: what `convt warmup` says at the end, and the manifest of what the cache holds.
#pragma once

#include "subject/capacity.h"
#include "warmup/fill.h"
#include "warmup/job.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace convt_jit::tools {

struct Tally {
    std::size_t compiled = 0, found = 0, missing = 0, failed = 0, left = 0;
    [[nodiscard]] bool good() const noexcept { return missing == 0 && failed == 0 && left == 0; }
};
[[nodiscard]] Tally count(const std::vector<JobResult>& results) noexcept;

struct Report {
    const std::vector<Job>& jobs;
    const Filling& filling;
    double seconds = 0;
    bool checked = false;  // nothing was to be compiled
    bool interrupted = false;
    Capacity capacity = {};
    nlohmann::json onnx = nlohmann::json::array();  // the nodes of a model; empty where none was named
};

void print_text(const Report& report);
void print_json(const Report& report);

// One JSON object a line for each layer and arch that the cache holds now, in the order of the command line: name,
// layer, arch, the arch that it is compiled for, key, plan.
[[nodiscard]] std::string manifest(const std::vector<Job>& jobs, const std::vector<JobResult>& results);

}  // namespace convt_jit::tools
