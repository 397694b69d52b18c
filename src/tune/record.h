// Record: what makes two findings be about the same thing.
#pragma once

#include "convt_jit/tuning.h"

#include <string>
#include <tuple>

namespace convt_jit {

using RecordKey = std::tuple<GpuModel, std::string, std::string, int>;  // GPU, layer, class, plan version

[[nodiscard]] RecordKey key_of(const TuningRecord& record);

}  // namespace convt_jit
