// Request: what `convt autotune` asks of its worker processes, and what they answer: a JSON object a line.
#pragma once

#include "convt_jit/tuner.h"

#include <nlohmann/json.hpp>

#include <string>

namespace convt_jit::tools {

enum class Work {
    facts,    // what card it is
    compile,  // a plan into the cache
    begin,    // a layer: its tensors and its reference, before the first measurement
    measure   // a plan, by turns with another one
};

struct Request {
    Work work = Work::facts;
    std::string layer, arch;
    std::string plan, against;  // against: empty: the plan alone
    int launches = 0;
    bool judged = false;
};

// The card, as far as evidence needs it.
struct CardFacts {
    std::string card, arch, driver, toolkit;
    double copy_tb_per_s = 0;
    int multiprocessors = 0;
};

[[nodiscard]] std::string request_line(const Request& request);
[[nodiscard]] const char* to_string(Work work) noexcept;
// These throw nlohmann's exceptions and Error where it is something else.
[[nodiscard]] Request parse_request(const std::string& line);
[[nodiscard]] nlohmann::json to_json(const CardFacts& facts);
[[nodiscard]] CardFacts parse_facts(const nlohmann::json& json);
[[nodiscard]] nlohmann::json to_json(const Measurement& measurement);
[[nodiscard]] Measurement parse_measurement(const nlohmann::json& json);

// Whether it can answer the request: with times that are times, as many of the incumbent's as of the candidate's, or
// with what went wrong.
[[nodiscard]] bool is_sound(const Request& request, const Measurement& measurement);

}  // namespace convt_jit::tools
