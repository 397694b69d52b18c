#include "autotune/finding.h"

#include "convt_jit/engine.h"

#include <algorithm>

namespace convt_jit::tools {

std::optional<TuningRecord> finding(const Layer& layer, const Tuned& tuned, const CardFacts& facts,
                                    const Clocks& clocks, MeasuredWeights weights, const std::string& date) {
    if (tuned.plan.empty()) return std::nullopt;
    const Shape shape = known_shape(layer);
    Layer any_size = layer;
    any_size.batch.reset();
    any_size.input = Dims();
    TuningEvidence e;
    e.plan = tuned.plan, e.ms = tuned.ms, e.spread = tuned.spread;
    e.runner_up_plan = tuned.runner_up, e.runner_up_ms = tuned.runner_up_ms;
    e.default_plan = tuned.default_plan, e.default_ms = tuned.default_ms;
    e.speed_of_light_ms = tuned.speed_of_light_ms;
    e.weights = weights;
    e.batch = shape.batch, e.input = shape.input;
    e.candidates = std::count_if(tuned.candidates.begin(), tuned.candidates.end(),
                                 [](const Candidate& c) { return c.samples > 0; });
    e.driver = facts.driver, e.toolkit = facts.toolkit;
    e.clock_mhz = clocks.multiprocessors, e.memory_clock_mhz = clocks.memory;
    e.date = date, e.library = version();
    return TuningRecord{
        {facts.card, facts.multiprocessors, facts.arch}, to_string(any_size), shape_class(layer), plan_version(), {e}};
}

}  // namespace convt_jit::tools
