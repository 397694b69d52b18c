// Trials: public bug reports turned into neutral trials (tests/data/bug_trials.jsonl).
#pragma once

#include "convt_jit/convt_jit.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace convt_jit::test {

[[nodiscard]] std::vector<nlohmann::json> read_trials();
[[nodiscard]] nlohmann::json trial(const std::string& id);

// A trial whose input is made by the integer hash fill and whose output is known by its digest.
struct HashTrial {
    std::string name;  // "BR_06_a"
    Layer layer;       // f32, channels-first
    std::string sha16;
};
// Every one of them, those that ask for the same layer (K0 of the cache trials) once.
[[nodiscard]] std::vector<HashTrial> hash_trials();

// x, w and a bias of c + 1, all small integers; in channels-first order.
[[nodiscard]] HostTensors hash_fill(const Layer& layer, const Shape& shape);

// First 16 digits of the SHA-256 of the values as 32-bit little-endian integers.
[[nodiscard]] std::string sha16(const std::vector<double>& values);

}  // namespace convt_jit::test
