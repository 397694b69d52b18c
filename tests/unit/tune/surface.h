// Surface: a simulated card. Each plan of a space of tiles has a time; a model knows it roughly, and measurements are
// noisy and drift with a clock.
#pragma once

#include "convt_jit/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace convt_jit::test {

struct SurfaceOptions {
    double model_error = 0.25;  // standard deviations of logs
    double noise = 0.01;
    double drift = 0;          // by how much the clock slows down with each second
    double launch_cost = 1.2;  // a launch takes so much more than its own time, for the flush
};

class Surface {
public:
    Surface(unsigned seed, SurfaceOptions options) : options_(options) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        constexpr int kValues[] = {5, 4, 4, 3, 3};
        std::vector<std::vector<double>> main;
        for (const int values : kValues) {
            main.emplace_back();
            const double best = normal(random) + values / 2.0;  // smooth along each axis
            for (int v = 0; v < values; ++v) main.back().push_back(0.09 * (v - best) * (v - best));
        }
        for (const char* family : {"direct", "gemm"}) {
            const double base = 0.3 * normal(random);
            const double family_error = 0.3 * normal(random);
            for (int a = 0; a < kValues[0]; ++a)
                for (int b = 0; b < kValues[1]; ++b)
                    for (int c = 0; c < kValues[2]; ++c)
                        for (int d = 0; d < kValues[3]; ++d)
                            for (int e = 0; e < kValues[4]; ++e) {
                                const double log_ms = base + main[0][a] + main[1][b] + main[2][c] + main[3][d] +
                                                      main[4][e] + 0.05 * normal(random);
                                const std::string plan =
                                    fmt::format("{} a={} b={} c={} d={} e={}", family, a, b, c, d, e);
                                true_ms_[plan] = std::exp(log_ms);
                                plans_.push_back({plan, 1e6 * std::exp(log_ms + family_error +
                                                                       options.model_error * normal(random))});
                            }
        }
        std::stable_sort(plans_.begin(), plans_.end(),
                         [](const auto& x, const auto& y) { return x.cycles < y.cycles; });
    }

    [[nodiscard]] const std::vector<ModelledPlan>& plans() const { return plans_; }
    [[nodiscard]] double ms(const std::string& plan) const { return true_ms_.at(plan); }
    [[nodiscard]] double best() const {
        double least = 1e30;
        for (const auto& [plan, ms] : true_ms_) least = std::min(least, ms);
        return least;
    }
    void fault(const std::string& plan, CandidateState state) { faults_[plan] = state; }
    void make(const std::string& plan, double ms) { true_ms_[plan] = ms; }

    // Advances `seconds` by what the launches take.
    [[nodiscard]] Measurement measure(const std::string& plan, const std::string& against, int launches, bool judged,
                                      std::mt19937& random, double& seconds) const {
        Measurement m;
        if (const auto fault = faults_.find(plan); fault != faults_.end())
            if (fault->second != CandidateState::wrong || judged) {
                m.state = fault->second;
                m.why = "as asked for";
                return m;
            }
        std::normal_distribution<double> normal;
        const auto launch = [&](const std::string& which) {
            const double ms =
                true_ms_.at(which) * (1 + options_.drift * seconds) * std::exp(options_.noise * normal(random));
            seconds += (ms + options_.launch_cost) * 1e-3;
            return ms;
        };
        for (int i = 0; i < launches; ++i) {
            m.ms.push_back(launch(plan));
            if (!against.empty()) m.against_ms.push_back(launch(against));
        }
        if (judged) m.rel_l2 = 1e-7;
        return m;
    }

private:
    SurfaceOptions options_;
    std::vector<ModelledPlan> plans_;
    std::map<std::string, double> true_ms_;
    std::map<std::string, CandidateState> faults_;
};

// A whole tune on the simulated card, whose compiler takes a while for each plan that is new.
inline Tuned tune(const Surface& surface, unsigned seed, double budget_seconds, TunerOptions options = {},
                  double compile_seconds = 0.05) {
    Tuner tuner(surface.plans(), options);
    std::mt19937 random(seed);
    std::set<std::size_t> compiled;
    double seconds = 0;
    bool expired = false;
    while (!tuner.open().empty()) {
        if (!expired && seconds > 0.9 * budget_seconds) {
            tuner.expire();
            expired = true;
            continue;
        }
        const std::size_t c = tuner.open().front();
        if (compiled.insert(c).second) seconds += compile_seconds;
        const auto incumbent = tuner.incumbent();
        const Measurement m =
            surface.measure(tuner.candidates()[c].plan, incumbent ? tuner.candidates()[*incumbent].plan : "",
                            tuner.launches(), tuner.judged(), random, seconds);
        tuner.report(c, m);
    }
    Tuned tuned = tuner.result();
    tuned.seconds = seconds;
    return tuned;
}

}  // namespace convt_jit::test
