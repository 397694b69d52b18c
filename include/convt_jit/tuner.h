// Tuner: decides which plan of a layer is measured next, and which one wins. Pure: it measures nothing itself, and the
// same measurements lead to the same winner.
#pragma once

#include "convt_jit/engine.h"
#include "convt_jit/error.h"
#include "convt_jit/export.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convt_jit {

/// What became of a candidate.
enum class CandidateState {
    not_reached,   ///< the budget was spent before its turn
    measured,      ///< up to the last round
    halved_out,    ///< measured, and left behind by faster ones
    not_compiled,  ///< the compiler refused it, or died over it
    not_launched,  ///< it could not be loaded or launched
    wrong,         ///< it computes something else: a fault, however fast
    hung           ///< it did not come back and was killed
};
[[nodiscard]] CONVT_JIT_API const char* to_string(CandidateState state) noexcept;
/// Throws LayerError("state", ...) for other words than those of to_string.
[[nodiscard]] CONVT_JIT_API CandidateState parse_candidate_state(const std::string& text);

/// What one measurement of a candidate found. Its launches alternate with those of the incumbent, so that a clock that
/// drifts concerns both alike: `ms[i]` and `against_ms[i]` belong together.
struct Measurement {
    CandidateState state = CandidateState::measured;  ///< or what went wrong
    std::string why;                                  ///< it went wrong
    std::vector<double> ms;                           ///< milliseconds of each launch
    std::vector<double> against_ms;                   ///< of the incumbent's; empty where there was none
    std::optional<double> rel_l2;                     ///< where it was judged
    std::string weights;                              ///< "as they are", "packed once", "packed each time"
    int registers = 0, spill_bytes = 0;
};

struct Candidate {
    std::string plan;
    double modelled_cycles = 0;  ///< infinite: no model
    CandidateState state = CandidateState::not_reached;
    std::string why;    ///< it failed
    double ms = 0;      ///< median of its launches; 0: not measured
    double spread = 0;  ///< distance between the quartiles over the median
    /// Its time over that of the plan that the search started from (the default, unless that failed), from launches
    /// that alternated; 0: not measured.
    double relative = 0;
    std::size_t samples = 0;  ///< launches that count
    std::optional<double> rel_l2;
    std::string weights;
    int registers = 0, spill_bytes = 0;
};

/// What tuning one layer came to: the evidence for its winner.
struct Tuned {
    std::string plan;  ///< empty: no candidate is right and fast enough to be measured
    double ms = 0, spread = 0;
    std::string runner_up;  ///< the next best of the last round; empty: there is none
    double runner_up_ms = 0;
    std::string default_plan;
    double default_ms = 0;              ///< 0: it could not be measured
    double speed_of_light_ms = 0;       ///< 0: not known
    double seconds = 0;                 ///< that it took
    bool out_of_budget = false;         ///< candidates were left when the time was over
    std::vector<Candidate> candidates;  ///< those with a time first, the fastest in front; then in the given order
};

struct TunerOptions {
    std::size_t width = 16;     ///< candidates of a heat
    std::size_t patience = 4;   ///< heats without a new incumbent before it stops early
    double least_gain = 0.004;  ///< a new incumbent is faster by at least this, and by more than the noise
    static TunerOptions exhaustive() { return {16, static_cast<std::size_t>(-1), 0.004}; }
};

/// Heats of successive halving. A heat takes the candidates that are next in line, measures each a few times against
/// the incumbent, goes on with the better quarter and more launches, and lets the best replace the incumbent where its
/// gain exceeds the noise. The first heat has the best modelled plans of each family. Half of each later one are
/// neighbours of the incumbent (plans that differ least from it), the others come in the order of their modelled times,
/// each family's corrected by what was measured of it. In the last round the best of all heats meet the incumbent once
/// more. Who drives it watches the time, and calls expire() when only the last round is left to be paid.
class CONVT_JIT_API Tuner {
public:
    /// The first plan is the default, from which the search starts.
    explicit Tuner(const std::vector<ModelledPlan>& plans, const TunerOptions& options = {});
    ~Tuner();
    Tuner(Tuner&&) noexcept;
    Tuner& operator=(Tuner&&) noexcept;
    Tuner(const Tuner&) = delete;
    Tuner& operator=(const Tuner&) = delete;

    /// Indices of the candidates that are to be measured now, in whatever order. Empty: the search is over.
    [[nodiscard]] const std::vector<std::size_t>& open() const noexcept;
    /// How: so many launches of each,
    [[nodiscard]] int launches() const noexcept;
    /// and whether what they compute is to be compared with the reference.
    [[nodiscard]] bool judged() const noexcept;
    /// What they are measured against; unset until a candidate is right.
    [[nodiscard]] std::optional<std::size_t> incumbent() const noexcept;
    /// Candidates that may become open after those, the likeliest first, at most so many: worth compiling ahead.
    [[nodiscard]] std::vector<std::size_t> ahead(std::size_t most) const;
    /// Tells the result of an open candidate.
    void report(std::size_t candidate, const Measurement& measurement);
    /// The time is over: what is open is left, and only the last round follows.
    void expire();

    /// As given, with what is known so far.
    [[nodiscard]] const std::vector<Candidate>& candidates() const noexcept;
    /// The evidence; who drives it knows the speed of light and the seconds.
    [[nodiscard]] Tuned result() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convt_jit
