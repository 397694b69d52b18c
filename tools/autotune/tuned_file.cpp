#include "autotune/tuned_file.h"

namespace convt_jit::tools {
namespace {

using Json = nlohmann::ordered_json;

Json row(const Candidate& c) {
    Json result = {{"plan", c.plan}, {"state", to_string(c.state)}};
    if (!c.why.empty()) result["failure"] = c.why;
    if (c.samples == 0) return result;
    result.update({{"ms", c.ms},
                   {"spread", c.spread},
                   {"relative", c.relative},
                   {"samples", c.samples},
                   {"weights", c.weights},
                   {"registers", c.registers},
                   {"spill_bytes", c.spill_bytes}});
    if (c.rel_l2) result["rel_l2"] = *c.rel_l2;
    return result;
}

Json row(const TunedLayer& layer) {
    const Tuned& t = layer.tuned;
    Json result = {{"name", layer.named.name},
                   {"layer", to_string(layer.named.layer)},
                   {"precision", precision_name(layer.named.layer)}};
    if (!layer.failure.empty()) result["error"] = layer.failure;
    if (!t.plan.empty())
        result.update({{"plan", t.plan},
                       {"ms", t.ms},
                       {"spread", t.spread},
                       {"runner_up", t.runner_up},
                       {"runner_up_ms", t.runner_up_ms}});
    result.update({{"default_plan", t.default_plan},
                   {"default_ms", t.default_ms},
                   {"speed_of_light_ms", t.speed_of_light_ms},
                   {"seconds", t.seconds},
                   {"out_of_budget", t.out_of_budget}});
    Json candidates = Json::array();
    // Those that were not reached are many, and say nothing but how many they are.
    std::size_t not_reached = 0;
    for (const Candidate& c : t.candidates) {
        if (c.state == CandidateState::not_reached)
            ++not_reached;
        else
            candidates.push_back(row(c));
    }
    result["not_reached"] = not_reached;
    result["candidates"] = std::move(candidates);
    return result;
}

}  // namespace

Json to_json(const TunedRun& run) {
    Json rows = Json::array();
    for (const TunedLayer& layer : run.layers) rows.push_back(row(layer));
    return {{"card", run.facts.card},
            {"arch", run.facts.arch},
            {"driver", run.facts.driver},
            {"toolkit", run.facts.toolkit},
            {"commit", run.commit},
            {"command", run.command},
            {"copy_tb_per_s", run.facts.copy_tb_per_s},
            {"results", std::move(rows)}};
}

}  // namespace convt_jit::tools
