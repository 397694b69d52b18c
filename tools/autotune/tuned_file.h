// TunedFile: what `convt autotune --json` writes: the evidence of each layer, with where it comes from.
#pragma once

#include "autotune/request.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace convt_jit::tools {

struct TunedLayer {
    NamedLayer named;
    Tuned tuned;
    std::string failure;  // empty: it was tuned
};

struct TunedRun {
    CardFacts facts;
    std::string commit, command;
    std::vector<TunedLayer> layers;
};

[[nodiscard]] nlohmann::ordered_json to_json(const TunedRun& run);

}  // namespace convt_jit::tools
