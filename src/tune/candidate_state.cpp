#include "convt_jit/tuner.h"

#include <array>
#include <utility>

namespace convt_jit {
namespace {

constexpr std::array<std::pair<CandidateState, const char*>, 7> kNames = {
    {{CandidateState::not_reached, "not reached"},
     {CandidateState::measured, "measured"},
     {CandidateState::halved_out, "halved out"},
     {CandidateState::not_compiled, "failed to compile"},
     {CandidateState::not_launched, "failed to launch"},
     {CandidateState::wrong, "wrong"},
     {CandidateState::hung, "hung"}}};

}  // namespace

const char* to_string(CandidateState state) noexcept {
    for (const auto& [known, name] : kNames)
        if (known == state) return name;
    return "";
}

CandidateState parse_candidate_state(const std::string& text) {
    for (const auto& [state, name] : kNames)
        if (name == text) return state;
    throw LayerError("state", "\"" + text + "\"", "what became of a candidate, such as \"measured\"");
}

}  // namespace convt_jit
