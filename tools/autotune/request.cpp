#include "autotune/request.h"

#include "subject/json_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace convt_jit::tools {

using nlohmann::json;

namespace {

constexpr std::array<std::pair<Work, const char*>, 4> kWorks = {
    {{Work::facts, "facts"}, {Work::compile, "compile"}, {Work::begin, "begin"}, {Work::measure, "measure"}}};

}  // namespace

const char* to_string(Work work) noexcept {
    for (const auto& [known, name] : kWorks)
        if (known == work) return name;
    return "";
}

std::string request_line(const Request& r) {
    return json_text(json{{"work", to_string(r.work)},
                          {"layer", r.layer},
                          {"arch", r.arch},
                          {"plan", r.plan},
                          {"against", r.against},
                          {"launches", r.launches},
                          {"judged", r.judged}},
                     -1) +
           "\n";
}

Request parse_request(const std::string& line) {
    const json parsed = json::parse(line);
    Request request;
    const auto name = parsed.at("work").get<std::string>();
    const auto found =
        std::find_if(kWorks.begin(), kWorks.end(), [&](const auto& known) { return known.second == name; });
    if (found == kWorks.end()) throw Error("unknown work: " + name);
    request.work = found->first;
    request.layer = parsed.at("layer").get<std::string>();
    request.arch = parsed.at("arch").get<std::string>();
    request.plan = parsed.at("plan").get<std::string>();
    request.against = parsed.at("against").get<std::string>();
    request.launches = parsed.at("launches").get<int>();
    request.judged = parsed.at("judged").get<bool>();
    return request;
}

json to_json(const CardFacts& facts) {
    return {{"card", facts.card},
            {"arch", facts.arch},
            {"driver", facts.driver},
            {"toolkit", facts.toolkit},
            {"copy_tb_per_s", facts.copy_tb_per_s},
            {"multiprocessors", facts.multiprocessors}};
}

CardFacts parse_facts(const json& parsed) {
    if (const std::string why = parsed.value("why", ""); !why.empty()) throw Error(why);
    return {parsed.at("card").get<std::string>(),     parsed.at("arch").get<std::string>(),
            parsed.at("driver").get<std::string>(),   parsed.at("toolkit").get<std::string>(),
            parsed.at("copy_tb_per_s").get<double>(), parsed.at("multiprocessors").get<int>()};
}

json to_json(const Measurement& m) {
    json result = {{"state", to_string(m.state)}, {"ms", m.ms},
                   {"against_ms", m.against_ms},  {"weights", m.weights},
                   {"registers", m.registers},    {"spill_bytes", m.spill_bytes}};
    if (!m.why.empty()) result["why"] = m.why;
    if (m.rel_l2) result["rel_l2"] = *m.rel_l2;
    return result;
}

Measurement parse_measurement(const json& parsed) {
    Measurement m;
    m.state = parse_candidate_state(parsed.at("state").get<std::string>());
    m.why = parsed.value("why", "");
    m.ms = parsed.value("ms", std::vector<double>());
    m.against_ms = parsed.value("against_ms", std::vector<double>());
    // A number that is infinite is written as null.
    if (const auto found = parsed.find("rel_l2"); found != parsed.end() && found->is_number())
        m.rel_l2 = found->get<double>();
    m.weights = parsed.value("weights", "");
    m.registers = parsed.value("registers", 0);
    m.spill_bytes = parsed.value("spill_bytes", 0);
    return m;
}

bool is_sound(const Request& request, const Measurement& m) {
    const auto is_time = [](double ms) { return std::isfinite(ms) && ms > 0; };
    if (!std::all_of(m.ms.begin(), m.ms.end(), is_time)) return false;
    if (!std::all_of(m.against_ms.begin(), m.against_ms.end(), is_time)) return false;
    if (m.rel_l2 && !(*m.rel_l2 >= 0)) return false;
    if (m.registers < 0 || m.spill_bytes < 0) return false;
    if (m.state == CandidateState::not_reached || m.state == CandidateState::halved_out) return false;  // the tuner's
    if (m.state != CandidateState::measured) return true;
    return !m.ms.empty() && m.against_ms.size() == (request.against.empty() ? 0 : m.ms.size());
}

}  // namespace convt_jit::tools
