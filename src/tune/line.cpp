#include "tune/line.h"

#include "tune/neighbours.h"
#include "tune/pairs.h"

#include <algorithm>
#include <cmath>

namespace convt_jit {
namespace {

// Fields that follow from others change with them, so that a step along one axis of the space changes a few words.
constexpr int kNear = 3;

}  // namespace

Line::Line(const std::vector<ModelledPlan>& plans) {
    std::vector<std::string> families;
    for (const ModelledPlan& plan : plans) {
        Place place{plan_words(plan.plan), 0, std::log(plan.cycles), false};
        const std::string family = place.words.empty() ? "" : place.words.front();
        place.family = static_cast<std::size_t>(std::find(families.begin(), families.end(), family) - families.begin());
        if (place.family == families.size()) families.push_back(family);
        places_.push_back(std::move(place));
    }
    errors_.resize(families.size());
}

void Line::learn(std::size_t candidate, double log_time) {
    const Place& place = places_[candidate];
    if (std::isfinite(place.log_cycles)) errors_[place.family].push_back(log_time - place.log_cycles);
}

double Line::expected(const Place& place) const {
    std::vector<double> errors = errors_[place.family];
    if (errors.empty())  // as wrong as the others are
        for (const auto& others : errors_) errors.insert(errors.end(), others.begin(), others.end());
    return place.log_cycles + (errors.empty() ? 0 : median(std::move(errors)));
}

std::vector<std::size_t> Line::waiting() const {
    std::vector<double> correction(errors_.size());
    for (const Place& place : places_)
        if (std::isfinite(place.log_cycles)) correction[place.family] = expected(place) - place.log_cycles;
    std::vector<std::size_t> ordered;
    for (std::size_t c = 0; c < places_.size(); ++c)
        if (!places_[c].taken) ordered.push_back(c);
    std::stable_sort(ordered.begin(), ordered.end(), [&](std::size_t a, std::size_t b) {
        return places_[a].log_cycles + correction[places_[a].family] <
               places_[b].log_cycles + correction[places_[b].family];
    });
    return ordered;
}

std::vector<std::size_t> Line::by_turns(const std::vector<std::size_t>& ordered) const {
    std::vector<std::vector<std::size_t>> queues(errors_.size());
    for (const std::size_t c : ordered) queues[places_[c].family].push_back(c);
    std::vector<std::size_t> mixed;
    for (std::size_t turn = 0; mixed.size() < ordered.size(); ++turn)
        for (const auto& queue : queues)
            if (turn < queue.size()) mixed.push_back(queue[turn]);
    return mixed;
}

std::vector<std::size_t> Line::neighbours(const std::vector<std::size_t>& ordered, std::size_t incumbent) const {
    std::vector<std::vector<std::size_t>> shells(kNear + 1);
    for (const std::size_t c : ordered)
        if (const auto distance = plan_distance(places_[c].words, places_[incumbent].words);
            distance && *distance <= kNear)
            shells[static_cast<std::size_t>(*distance)].push_back(c);
    std::vector<std::size_t> all;
    for (const auto& shell : shells) all.insert(all.end(), shell.begin(), shell.end());
    return all;
}

std::vector<std::size_t> Line::next(std::optional<std::size_t> incumbent, std::size_t most) const {
    std::vector<std::size_t> ordered = waiting();
    std::vector<std::size_t> chosen;
    const auto take_from = [&](const std::vector<std::size_t>& source, std::size_t until) {
        for (const std::size_t c : source) {
            if (chosen.size() >= until) return;
            if (std::find(chosen.begin(), chosen.end(), c) == chosen.end()) chosen.push_back(c);
        }
    };
    if (!places_.empty() && !places_.front().taken) chosen.push_back(0);
    if (incumbent)
        take_from(neighbours(ordered, *incumbent), most / 2);
    else
        ordered = by_turns(ordered);
    take_from(ordered, most);
    return chosen;
}

bool Line::empty() const noexcept {
    return std::all_of(places_.begin(), places_.end(), [](const Place& place) { return place.taken; });
}

}  // namespace convt_jit
