// Request: everything that decides which machine code is wanted.
#pragma once

#include "convt_jit/engine.h"
#include "plan/plan.h"

#include <string>

namespace convt_jit {

struct Request {
    Layer layer;  // without batch and input size
    Plan plan;
    Arch arch;  // what to compile for
    PlanOrigin plan_origin = PlanOrigin::standard;
    std::string name;  // of the kernel: layer and plan

    // As it was asked for, so that an error can say how to ask for it again.
    std::string asked_layer;  // layer string with its sizes: they guide the plan
    std::string asked_arch;
    std::string asked_plan;  // "" for the default choice
    bool asked_exact = false;
};

// The plan is the one that was asked for, else `recorded`, else the default choice. Throws LayerError,
// UnsupportedError.
[[nodiscard]] Request make_request(const Layer& layer, const Arch& arch, const PrepareOptions& options,
                                   const std::string& recorded = "");

// The same layer with the plan that compiles fastest: slower, the same results. What was asked for stays: where not
// even this one can be had, that is what is missing.
[[nodiscard]] Request generic(const Request& request);

}  // namespace convt_jit
