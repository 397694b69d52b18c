// Surface: a card that is made up, for tests of all that surrounds the measuring where no GPU is. A JSON file:
// {"card": ..., "arch": "sm_90", "rules": [{"match": "part of a plan", "ms": 0.5, "fault": "hang"}]}. The first rule
// that matches counts; plans without one take a time that follows from their text. Faults: "hang", "crash", or the name
// of what becomes of the candidate.
#pragma once

#include "autotune/request.h"

#include <nlohmann/json.hpp>

#include <random>
#include <string>

namespace convt_jit::tools {

class Surface {
public:
    // Throws Error where the file cannot be read.
    explicit Surface(const std::string& path);
    [[nodiscard]] CardFacts facts() const;
    [[nodiscard]] Measurement compile(const Request& request) const;
    [[nodiscard]] Measurement measure(const Request& request);

private:
    [[nodiscard]] nlohmann::json rule(const std::string& plan) const;
    [[nodiscard]] double ms(const std::string& plan) const;

    nlohmann::json description_;
    std::mt19937 random_{1};
};

}  // namespace convt_jit::tools
