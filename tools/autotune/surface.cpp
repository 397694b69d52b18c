#include "autotune/surface.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>

namespace convt_jit::tools {

Surface::Surface(const std::string& path) {
    std::ifstream file(path);
    try {
        description_ = nlohmann::json::parse(file);
    } catch (const nlohmann::json::exception& error) {
        throw Error(fmt::format("{}: {}", path, error.what()));
    }
}

CardFacts Surface::facts() const {
    return {description_.value("card", "made up"), description_.value("arch", "sm_90"), "0.0", "0.0", 3, 108};
}

nlohmann::json Surface::rule(const std::string& plan) const {
    for (const auto& rule : description_.value("rules", nlohmann::json::array()))
        if (plan.find(rule.at("match").get<std::string>()) != std::string::npos) return rule;
    return nlohmann::json::object();
}

double Surface::ms(const std::string& plan) const {
    std::uint32_t digest = 2166136261U;  // FNV-1a
    for (const char c : plan) digest = (digest ^ static_cast<unsigned char>(c)) * 16777619U;
    return rule(plan).value("ms", 1 + digest % 1000 * 1e-3);
}

Measurement Surface::compile(const Request& request) const {
    Measurement m;
    const std::string fault = rule(request.plan).value("fault", "");
    if (fault == to_string(CandidateState::not_compiled)) {
        m.state = CandidateState::not_compiled;
        m.why = "a rule says so";
    }
    return m;
}

Measurement Surface::measure(const Request& request) {
    Measurement m;
    const std::string fault = rule(request.plan).value("fault", "");
    if (fault == "hang")
        for (;;) ::pause();
    if (fault == "crash") std::abort();
    const bool wrong = fault == to_string(CandidateState::wrong);
    if (!fault.empty() && (!wrong || request.judged)) {
        m.state = parse_candidate_state(fault);
        m.why = "a rule says so";
        return m;
    }
    std::normal_distribution<double> noise(0, 0.003);
    for (int i = 0; i < request.launches; ++i) {
        m.ms.push_back(ms(request.plan) * std::exp(noise(random_)));
        if (!request.against.empty()) m.against_ms.push_back(ms(request.against) * std::exp(noise(random_)));
    }
    if (request.judged) m.rel_l2 = 1e-7;
    m.weights = "as they are";
    m.registers = 64;
    return m;
}

}  // namespace convt_jit::tools
