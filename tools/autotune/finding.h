// Finding: the tuning record that a tuned layer comes to. Pure.
#pragma once

#include "autotune/clocks.h"
#include "autotune/request.h"
#include "convt_jit/tuner.h"
#include "convt_jit/tuning.h"

#include <optional>
#include <string>

namespace convt_jit::tools {

// date: UTC, "2025-01-31T12:00:00Z". Nothing where no plan was found.
[[nodiscard]] std::optional<TuningRecord> finding(const Layer& layer, const Tuned& tuned, const CardFacts& facts,
                                                  const Clocks& clocks, MeasuredWeights weights,
                                                  const std::string& date);

}  // namespace convt_jit::tools
