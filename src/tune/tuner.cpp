#include "convt_jit/tuner.h"

#include "tune/line.h"
#include "tune/pairs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace convt_jit {
namespace {

// Launches of each round of a heat, and by how much a candidate may be behind the incumbent to go on after it: a round
// of few launches knows less, and neighbours of what is a little slower may be faster.
struct Round {
    int launches;
    double behind;
};
constexpr Round kRounds[] = {{3, 0.08}, {9, 0.01}, {27, 0}};
constexpr std::size_t kRoundCount = std::size(kRounds);
constexpr std::size_t kKept = 4;  // one of so many goes on
constexpr int kSeedLaunches = 9, kLastLaunches = 27;
constexpr std::size_t kFinalists = 3;
constexpr double kWorthAnotherLook = 0.05;
constexpr double kNoises = 2;  // standard errors that a gain must exceed

enum class Stage { seed, heat, last, over };

}  // namespace

struct Tuner::Impl {
    Impl(const std::vector<ModelledPlan>& plans, const TunerOptions& given) : options(given), line(plans) {
        options.width = std::max<std::size_t>(options.width, 1);
        for (const ModelledPlan& plan : plans) {
            Candidate candidate;
            candidate.plan = plan.plan;
            candidate.modelled_cycles = plan.cycles;
            candidates.push_back(std::move(candidate));
        }
        score.assign(candidates.size(), std::numeric_limits<double>::infinity());
        compared.resize(candidates.size());
        seed();
    }

    // One after the other, until one is right.
    void seed() {
        const std::vector<std::size_t> next = line.next(std::nullopt, 1);
        stage = next.empty() ? Stage::over : Stage::seed;
        open = next;
    }

    [[nodiscard]] std::vector<std::size_t> next_in_line(std::size_t most) const {
        return line.next(heats == 0 ? std::nullopt : incumbent, most);
    }

    void begin_heat() {
        std::vector<std::size_t> members;
        if (idle_heats < options.patience) members = next_in_line(options.width);
        if (members.empty()) {
            begin_last();
            return;
        }
        stage = Stage::heat;
        round = 0;
        round_size = members.size();
        ++heats;
        open = std::move(members);
        finished.clear();
        substitutes.clear();
    }

    // All of a round are measured: the better ones go on.
    void end_round() {
        std::stable_sort(finished.begin(), finished.end(),
                         [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });
        if (round + 1 == kRoundCount) {
            const bool replaced = !finished.empty() && try_to_replace(finished.front());
            idle_heats = replaced ? 0 : idle_heats + 1;
            begin_heat();
            return;
        }
        const double limit = score[*incumbent] + kRounds[round].behind;
        std::erase_if(finished, [&](std::size_t c) { return score[c] > limit; });
        const std::size_t kept = std::min(finished.size(), std::max<std::size_t>(1, round_size / kKept));
        if (kept == 0) {
            ++idle_heats;
            begin_heat();
            return;
        }
        ++round;
        open.assign(finished.begin(), finished.begin() + static_cast<std::ptrdiff_t>(kept));
        substitutes.assign(finished.rbegin(), finished.rend() - static_cast<std::ptrdiff_t>(kept));
        finished.clear();
        round_size = kept;
    }

    void begin_last() {
        stage = Stage::last;
        finished.clear();
        open.clear();
        for (std::size_t c = 0; c < candidates.size(); ++c)
            if (c != *incumbent && std::isfinite(score[c]) && score[c] <= score[*incumbent] + kWorthAnotherLook)
                open.push_back(c);
        std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });
        if (open.size() > kFinalists) open.resize(kFinalists);
        // The default's time belongs to the evidence.
        if (*incumbent != 0 && std::isfinite(score[0]) && std::find(open.begin(), open.end(), 0U) == open.end())
            open.push_back(0);
        against.clear();
        if (open.empty()) end_last();
    }

    void end_last() {
        const std::size_t before = *incumbent;
        std::stable_sort(finished.begin(), finished.end(),
                         [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });
        if (!against.empty()) note_times(candidates[before], against);
        for (const std::size_t c : finished)
            if (try_to_replace(c)) break;
        candidates[*incumbent].state = CandidateState::measured;
        stage = Stage::over;
    }

    bool try_to_replace(std::size_t candidate) {
        const Comparison& gain = compared[candidate];
        if (gain.log_ratio > -std::max(options.least_gain, kNoises * gain.noise)) return false;
        incumbent = candidate;
        return true;
    }

    static void note_times(Candidate& candidate, const std::vector<double>& ms) {
        candidate.ms = median(ms);
        candidate.spread = spread(ms);
        candidate.samples = ms.size();
    }

    void note(std::size_t at, const Measurement& m) {
        Candidate& c = candidates[at];
        c.state = m.state;
        c.why = m.why;
        if (m.rel_l2) c.rel_l2 = m.rel_l2;
        if (!m.weights.empty()) c.weights = m.weights;
        if (m.registers > 0) {
            c.registers = m.registers;
            c.spill_bytes = m.spill_bytes;
        }
        if (!m.ms.empty()) note_times(c, m.ms);
        if (m.state != CandidateState::measured || m.ms.empty()) {
            score[at] = std::numeric_limits<double>::infinity();
            if (m.state == CandidateState::measured) c.state = CandidateState::not_launched;
            return;
        }
        if (!incumbent) {
            score[at] = 0;
        } else {
            compared[at] = compare_pairs(m.ms, m.against_ms);
            score[at] = score[*incumbent] + compared[at].log_ratio;
        }
        c.relative = std::exp(score[at]);
        line.learn(at, score[at]);
    }

    void report(std::size_t at, const Measurement& measurement) {
        const auto place = std::find(open.begin(), open.end(), at);
        if (place == open.end()) return;
        open.erase(place);
        line.take(at);
        note(at, measurement);
        const bool right = std::isfinite(score[at]);
        switch (stage) {
            case Stage::seed:
                if (!right) {
                    seed();
                    return;
                }
                incumbent = at;
                begin_heat();
                return;
            case Stage::heat:
                if (right) {
                    candidates[at].state =
                        round + 1 == kRoundCount ? CandidateState::measured : CandidateState::halved_out;
                    finished.push_back(at);
                } else if (!substitutes.empty()) {
                    open.push_back(substitutes.back());
                    substitutes.pop_back();
                }
                if (open.empty()) end_round();
                return;
            case Stage::last:
                if (right) finished.push_back(at);
                // Each finalist met the incumbent in launches of its own.
                against.insert(against.end(), measurement.against_ms.begin(), measurement.against_ms.end());
                if (open.empty()) end_last();
                return;
            case Stage::over:
                return;
        }
    }

    void expire() {
        if (stage == Stage::last || stage == Stage::over) return;
        expired = !line.empty() || !open.empty();
        if (incumbent) {
            // Those of the round that are not measured again keep what is known of them.
            for (const std::size_t c : open)
                if (candidates[c].samples > 0) candidates[c].state = CandidateState::halved_out;
            begin_last();
        } else {
            open.clear();
            stage = Stage::over;
        }
    }

    TunerOptions options;
    Line line;
    std::vector<Candidate> candidates;
    std::vector<double> score;         // log of the time over the first incumbent's; infinite: none
    std::vector<Comparison> compared;  // the latest of each
    Stage stage = Stage::seed;
    std::optional<std::size_t> incumbent;
    std::size_t round = 0, round_size = 0, heats = 0, idle_heats = 0;
    std::vector<std::size_t> open, finished;
    std::vector<std::size_t> substitutes;  // for those of the round that fail, the best at the back
    std::vector<double> against;           // the incumbent's times in the last round
    bool expired = false;
};

Tuner::Tuner(const std::vector<ModelledPlan>& plans, const TunerOptions& options)
    : impl_(std::make_unique<Impl>(plans, options)) {}
Tuner::~Tuner() = default;
Tuner::Tuner(Tuner&&) noexcept = default;
Tuner& Tuner::operator=(Tuner&&) noexcept = default;

const std::vector<std::size_t>& Tuner::open() const noexcept { return impl_->open; }

int Tuner::launches() const noexcept {
    switch (impl_->stage) {
        case Stage::seed:
            return kSeedLaunches;
        case Stage::heat:
            return kRounds[impl_->round].launches;
        default:
            return kLastLaunches;
    }
}

// Not in the first round of a heat: most candidates end there, and a wrong one can do no more than to go on.
bool Tuner::judged() const noexcept { return impl_->stage != Stage::heat || impl_->round > 0; }

std::optional<std::size_t> Tuner::incumbent() const noexcept { return impl_->incumbent; }

std::vector<std::size_t> Tuner::ahead(std::size_t most) const {
    if (impl_->stage != Stage::seed && impl_->stage != Stage::heat) return {};
    // Those of the first round are still in line themselves.
    std::vector<std::size_t> next = impl_->next_in_line(most + impl_->open.size());
    std::erase_if(
        next, [&](std::size_t c) { return std::find(impl_->open.begin(), impl_->open.end(), c) != impl_->open.end(); });
    if (next.size() > most) next.resize(most);
    return next;
}

void Tuner::report(std::size_t candidate, const Measurement& measurement) { impl_->report(candidate, measurement); }
void Tuner::expire() { impl_->expire(); }
const std::vector<Candidate>& Tuner::candidates() const noexcept { return impl_->candidates; }

Tuned Tuner::result() const {
    const auto& all = impl_->candidates;
    const auto& score = impl_->score;
    Tuned tuned;
    tuned.out_of_budget = impl_->expired;
    if (!all.empty()) {
        tuned.default_plan = all.front().plan;
        if (std::isfinite(score.front())) tuned.default_ms = all.front().ms;
    }
    std::vector<std::size_t> order(all.size());
    for (std::size_t c = 0; c < order.size(); ++c) order[c] = c;
    // The winner in front: others may be faster by less than the noise.
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if ((a == impl_->incumbent) != (b == impl_->incumbent)) return a == impl_->incumbent;
        return score[a] < score[b];
    });
    for (const std::size_t c : order) tuned.candidates.push_back(all[c]);
    if (!impl_->incumbent) return tuned;
    const Candidate& winner = tuned.candidates.front();
    tuned.plan = winner.plan;
    tuned.ms = winner.ms;
    tuned.spread = winner.spread;
    if (order.size() > 1 && std::isfinite(score[order[1]])) {
        tuned.runner_up = tuned.candidates[1].plan;
        tuned.runner_up_ms = tuned.candidates[1].ms;
    }
    return tuned;
}

}  // namespace convt_jit
