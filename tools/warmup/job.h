// Job: one kernel to be had, whichever layers want it.
#pragma once

#include "cache/lookup.h"
#include "convt_jit/convt_jit.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convt_jit::tools {

// A layer for an arch, as it was named.
struct Target {
    NamedLayer named;
    std::string arch;
    std::string plan = {};  // that tuning records choose; empty: the default choice
};

// "up1 for sm_90a"
[[nodiscard]] std::string to_string(const Target& target);

struct Job {
    std::vector<Target> targets;        // all that this kernel serves; the first one is what is compiled
    std::optional<CacheWanted> wanted;  // unset: it cannot be had
    std::string failure;                // why not
};

enum class State { left, compiled, found, missing, failed };

struct JobResult {
    State state = State::left;
    std::string key;                 // where it is known
    std::string why;                 // it failed or is missing
    std::vector<NotServed> reasons;  // where it was only looked for: why a directory does not serve it
    std::string directory = {};      // ... and which one does
    std::uint64_t bytes = 0;         // ... with an entry of that size
};

// Every layer for every arch, in their order, with each plan that `records` choose on GPUs of that arch. Those that
// come to the same source, options and arch are one job: layers that differ in sizes alone, archs that differ in a
// suffix that the plan has no use for. `stop` is asked between them; true ends it early.
[[nodiscard]] std::vector<Job> make_jobs(const std::vector<NamedLayer>& layers, const std::vector<std::string>& archs,
                                         const PrepareOptions& options, const TuningRecords& records,
                                         const std::function<bool()>& stop);

// The plans of a layer: of `options`, else of records, else the default choice (""). Throws LayerError,
// UnsupportedError.
[[nodiscard]] std::vector<std::string> plans_of(const Layer& layer, const std::string& arch,
                                                const PrepareOptions& options, const TuningRecords& records);

}  // namespace convt_jit::tools
