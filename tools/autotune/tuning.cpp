#include "autotune/tuning.h"

#include "autotune/compilers.h"
#include "subject/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <utility>

namespace convt_jit::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kForSearch = 0.9;  // of the budget; the rest is for the last round
constexpr auto kCompilerPatience = std::chrono::seconds(120);
constexpr std::size_t kAheadPerJob = 2;

std::string family_of(const std::string& plan) { return plan.substr(0, plan.find(' ')); }

std::string bar(double share) {
    constexpr int kCells = 20;
    return format_bar(static_cast<std::size_t>(std::clamp(static_cast<int>(share * kCells), 0, kCells)), kCells);
}

class Tuning {
public:
    Tuning(const Layer& layer, const std::string& arch, const std::vector<ModelledPlan>& plans,
           const TuningOptions& options, Measurer& measurer, Journal& journal, Progress& progress)
        : options_(options),
          layer_(to_string(layer)),
          arch_(arch),
          tuner_(plans, options.exhaustive ? TunerOptions::exhaustive() : TunerOptions()),
          measurer_(measurer),
          journal_(journal),
          progress_(progress),
          compilers_(options.worker_arguments, layer_, arch, options.jobs, kCompilerPatience),
          begin_(Clock::now()) {}

    [[nodiscard]] Tuned run() {
        bool expired = options_.exhaustive;
        const auto end_of_search = begin_ + std::chrono::duration_cast<Clock::duration>(
                                                std::chrono::duration<double>(kForSearch * options_.budget_seconds));
        while (!tuner_.open().empty()) {
            if (!expired && Clock::now() >= end_of_search) {
                expired = true;
                tuner_.expire();
                continue;
            }
            if (replay()) continue;
            want();
            // Without an incumbent there is nothing to end with: the first compile is waited for.
            const auto until = expired || !tuner_.incumbent() ? Clock::now() + kCompilerPatience : end_of_search;
            if (const auto ready = compilers_.take(tuner_.open(), until)) measure(ready->first, ready->second);
            show();
        }
        Tuned tuned = tuner_.result();
        tuned.seconds = seconds();
        return tuned;
    }

private:
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

    [[nodiscard]] Request request(std::size_t candidate) const {
        const auto incumbent = tuner_.incumbent();
        return {Work::measure,
                layer_,
                arch_,
                tuner_.candidates()[candidate].plan,
                incumbent ? tuner_.candidates()[*incumbent].plan : "",
                tuner_.launches(),
                tuner_.judged()};
    }

    // What an earlier run has measured.
    [[nodiscard]] bool replay() {
        for (const std::size_t candidate : tuner_.open())
            if (const auto known = journal_.find(request(candidate))) {
                tuner_.report(candidate, *known);
                return true;
            }
        return false;
    }

    void want() {
        std::vector<std::pair<std::size_t, std::string>> wanted;
        const auto add = [&](const std::vector<std::size_t>& candidates) {
            for (const std::size_t c : candidates) wanted.emplace_back(c, tuner_.candidates()[c].plan);
        };
        add(tuner_.open());
        add(tuner_.ahead(kAheadPerJob * options_.jobs));
        compilers_.want(std::move(wanted));
    }

    void measure(std::size_t candidate, const Compilers::Result& compiled) {
        const Request asked = request(candidate);
        Measurement m;
        if (compiled.compiled) {
            m = measurer_.measure(asked);
        } else {
            m.state = CandidateState::not_compiled;
            m.why = compiled.why;
        }
        journal_.add(asked, m);
        tuner_.report(candidate, m);
    }

    void show() {
        const auto& all = tuner_.candidates();
        const auto reached = std::count_if(all.begin(), all.end(),
                                           [](const Candidate& c) { return c.state != CandidateState::not_reached; });
        std::string best = "none yet";
        if (const auto incumbent = tuner_.incumbent())
            best = fmt::format("{:.4f} ms, {:.2f} of the first, {}", all[*incumbent].ms, all[*incumbent].relative,
                               family_of(all[*incumbent].plan));
        const double share = options_.exhaustive ? static_cast<double>(reached) / static_cast<double>(all.size())
                                                 : seconds() / options_.budget_seconds;
        progress_.revise(fmt::format("{} {} of {} candidates, best {}", bar(share), reached, all.size(), best));
    }

    const TuningOptions& options_;
    const std::string layer_, arch_;
    Tuner tuner_;
    Measurer& measurer_;
    Journal& journal_;
    Progress& progress_;
    Compilers compilers_;
    const Clock::time_point begin_;
};

}  // namespace

std::vector<std::string> read_plans(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Error(fmt::format("--plans: {} cannot be read", path));
    std::vector<std::string> plans;
    for (std::string line; std::getline(file, line);)
        if (!line.empty()) plans.push_back(line);
    return plans;
}

std::vector<ModelledPlan> tuning_candidates(const Layer& layer, const std::string& arch,
                                            const std::vector<std::string>& first,
                                            const std::vector<std::string>& families, std::size_t most_per_family) {
    std::vector<ModelledPlan> modelled = Engine::modelled_plans(layer, arch, most_per_family);
    std::vector<ModelledPlan> all = {modelled.front()};
    std::set<std::string> known = {modelled.front().plan};
    // Somebody's guess is worth more than any model.
    for (const std::string& plan : first)
        if (known.insert(plan).second) all.push_back({plan, 0});
    for (const ModelledPlan& plan : modelled) {
        if (!families.empty() && std::find(families.begin(), families.end(), family_of(plan.plan)) == families.end())
            continue;
        if (known.insert(plan.plan).second) all.push_back(plan);
    }
    return all;
}

Tuned tune(const Layer& layer, const std::string& arch, const std::vector<ModelledPlan>& plans,
           const TuningOptions& options, Measurer& measurer, Journal& journal, Progress& progress) {
    progress.step("making its tensors and its reference");
    measurer.begin(to_string(layer));
    progress.step("compiling the first candidates");
    return Tuning(layer, arch, plans, options, measurer, journal, progress).run();
}

}  // namespace convt_jit::tools
