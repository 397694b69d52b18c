#include "autotune/autotune.h"

#include "autotune/merge.h"
#include "convt_jit/convt_jit.h"
#include "subject/apart.h"
#include "subject/argument.h"
#include "subject/choice.h"
#include "subject/json_text.h"
#include "subject/message.h"
#include "subject/output_file.h"
#include "subject/progress.h"
#include "subject/trial.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

namespace convt_jit::tools {
namespace {

struct Options {
    LayerChoice layers;
    std::string json, dtype, plans, records;
    std::vector<std::string> families, merge;
    std::size_t most = 40;
    std::size_t random = 0;
    int jobs = 0;
    bool pack_each_time = false;
};

struct Candidate {
    std::string plan, weights;
    double ms = 0;  // 0: not measured
    double rel_l2 = 0;
    int registers = 0, spill_bytes = 0;
    std::string failure;
};

// Plans compiled into the engine's cache by threads of their own, handed out as they get ready.
class Compilers {
public:
    Compilers(Engine& engine, const Layer& layer, const std::string& arch, const std::vector<Candidate>& candidates,
              int jobs) {
        for (int i = 0; i < jobs; ++i)
            // The arch by value: the caller's may be gone before the threads are.
            threads_.emplace_back([&engine, &layer, arch, &candidates, this] {
                for (std::size_t at = next_++; at < candidates.size(); at = next_++) {
                    std::string failure;
                    try {
                        PrepareOptions options;
                        options.plan = candidates[at].plan;
                        (void)engine.compile(layer, arch, options);
                    } catch (const std::exception& error) {
                        failure = error.what();
                    }
                    const std::scoped_lock lock(mutex_);
                    ready_.emplace_back(at, std::move(failure));
                    change_.notify_one();
                }
            });
    }
    ~Compilers() {
        for (std::thread& thread : threads_) thread.join();
    }
    Compilers(const Compilers&) = delete;
    Compilers& operator=(const Compilers&) = delete;

    // Waits for the next. Its index, and why it cannot be had.
    std::pair<std::size_t, std::string> take() {
        std::unique_lock lock(mutex_);
        change_.wait(lock, [&] { return !ready_.empty(); });
        auto result = std::move(ready_.front());
        ready_.pop_front();
        return result;
    }

private:
    std::atomic<std::size_t> next_ = 0;
    std::mutex mutex_;
    std::condition_variable change_;
    std::deque<std::pair<std::size_t, std::string>> ready_;
    std::vector<std::thread> threads_;
};

std::vector<Candidate> candidates_for(const Options& options, const Layer& layer, const std::string& arch) {
    std::vector<std::string> plans;
    if (!options.plans.empty()) {
        std::ifstream file(options.plans);
        for (std::string line; std::getline(file, line);) plans.push_back(line);
    }
    std::vector<std::string> modelled =
        Engine::plans(layer, arch, options.random > 0 ? std::numeric_limits<std::size_t>::max() : options.most);
    if (!options.families.empty())
        modelled.erase(std::remove_if(modelled.begin(), modelled.end(),
                                      [&](const std::string& plan) {
                                          return std::find(options.families.begin(), options.families.end(),
                                                           plan.substr(0, plan.find(' '))) == options.families.end();
                                      }),
                       modelled.end());
    const std::size_t first = options.random > 0 ? std::min(modelled.size(), options.most + 2) : modelled.size();
    plans.insert(plans.end(), modelled.begin(), modelled.begin() + static_cast<std::ptrdiff_t>(first));
    std::mt19937_64 generator(7);
    for (std::size_t i = 0; i < options.random && first < modelled.size(); ++i) {
        // Most from the better part of the order.
        const double u = std::uniform_real_distribution<double>(0, 1)(generator);
        plans.push_back(
            modelled[first + static_cast<std::size_t>(u * u * u * static_cast<double>(modelled.size() - first - 1))]);
    }
    std::vector<Candidate> candidates;
    for (std::string& plan : plans)
        if (std::none_of(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.plan == plan; }))
            candidates.push_back({std::move(plan), "", 0, 0, 0, 0, ""});
    return candidates;
}

void tune(Engine& engine, const Device& device, const NamedLayer& named, const Options& options, const Buffer& flush,
          Progress& progress, nlohmann::ordered_json& results) {
    std::vector<Candidate> candidates = candidates_for(options, named.layer, device.arch());
    const WeightsAre weights = options.pack_each_time ? WeightsAre::changing : WeightsAre::constant;
    Trial trial(engine, device, named.layer, flush, weights);
    const double tolerated = tolerance(named.layer);
    const auto measure = [&](Candidate& candidate, int repeats, bool judge) {
        try {
            PrepareOptions prepare;
            prepare.device = device;
            prepare.plan = candidate.plan;
            const Kernel kernel = engine.prepare(named.layer, prepare);
            const std::vector<double> times = trial.time(kernel, repeats);
            candidate.ms = times[times.size() / 2];
            candidate.weights = weights_text(kernel.info(), weights);
            candidate.registers = kernel.info().registers;
            candidate.spill_bytes = kernel.info().spill_bytes;
            if (!judge) return;
            const Errors errors = trial.judge();
            candidate.rel_l2 = errors.rel_l2;
            if (errors.wrong_nonfinite != 0 || !(errors.rel_l2 <= tolerated))
                candidate.failure = fmt::format("wrong: relative L2 error {:.2e}, {} wrongly non-finite", errors.rel_l2,
                                                errors.wrong_nonfinite);
        } catch (const std::exception& error) {
            candidate.failure = error.what();
        }
    };
    double best = 0;
    {
        Compilers compilers(engine, named.layer, device.arch(), candidates,
                            options.jobs > 0 ? options.jobs : static_cast<int>(std::thread::hardware_concurrency()));
        for (std::size_t done = 0; done < candidates.size(); ++done) {
            auto [at, failure] = compilers.take();
            Candidate& candidate = candidates[at];
            candidate.failure = std::move(failure);
            if (candidate.failure.empty()) measure(candidate, 5, false);
            if (candidate.failure.empty() && (best == 0 || candidate.ms < best * 1.02)) {
                measure(candidate, 9, true);
                if (candidate.failure.empty() && (best == 0 || candidate.ms < best)) best = candidate.ms;
            }
            progress.step(fmt::format("{}/{}, best {:.4f} ms", done + 1, candidates.size(), best));
        }
    }
    std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return (a.failure.empty() ? a.ms : 1e30) < (b.failure.empty() ? b.ms : 1e30);
    });
    fmt::print("{:<18} {:.4f} ms  {}\n", title(named), candidates.front().ms, candidates.front().plan);
    std::fflush(stdout);
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Candidate& c : candidates)
        list.push_back({{"plan", c.plan},
                        {"weights", c.weights},
                        {"ms", c.ms},
                        {"rel_l2", c.rel_l2},
                        {"registers", c.registers},
                        {"spill_bytes", c.spill_bytes},
                        {"failure", c.failure}});
    results.push_back({{"name", named.name}, {"layer", to_string(named.layer)}, {"candidates", list}});
}

int autotune(const Options& options) {
    std::vector<NamedLayer> layers = options.layers.layers();
    expect_work(layers);
    if (!options.json.empty()) {
        expect_apart({"--json", options.json}, {{"--layers", options.layers.file}, {"--plans", options.plans}});
        expect_writable(options.json);
    }
    const Device device = Device::best();
    if (!device.is_cuda()) throw UnsupportedError("autotune needs a GPU; the simulator's times say nothing");
    Progress progress;
    const Buffer flush = flush_of(device);
    Engine engine;
    nlohmann::ordered_json results = nlohmann::ordered_json::array();
    int failed = 0;
    for (NamedLayer& named : layers) {
        if (options.dtype == "f16") named.layer.dtype = DType::f16;
        if (options.dtype == "bf16") named.layer.dtype = DType::bf16;
        if (options.dtype == "f32" || options.dtype == "tf32") {
            named.layer.dtype = DType::f32;
            named.layer.precision = options.dtype == "tf32" ? Precision::tf32 : Precision::ieee;
        }
        progress.about(fmt::format("{}: ", title(named)));
        try {
            tune(engine, device, named, options, flush, progress, results);
        } catch (const std::exception& error) {
            ++failed;
            fmt::print("{:<18} FAILED {}\n", title(named), shown(error.what()));
        }
        engine.clear();
        if (!options.json.empty())
            write_file(options.json,
                       json_text(nlohmann::ordered_json{{"card", device.name()}, {"results", results}}, 1) + "\n");
    }
    progress.done();
    return failed == 0 ? 0 : 1;
}

}  // namespace

void add_autotune(CLI::App& app, int& status) {
    auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("autotune", "Find the fastest plan of layers on this GPU");
    options->layers.add_to(*command);
    command->add_option("--json", options->json, "write all that was measured there")
        ->type_name("FILE")
        ->check(not_empty());
    command->add_option("--dtype", options->dtype, "instead of the layers' own")
        ->check(not_empty())
        ->check(CLI::IsMember({"f32", "tf32", "f16", "bf16"}));
    command
        ->add_option("--families", options->families,
                     "of these families only: unrolled,implicit_gemm,implicit_gemm_sm90")
        ->delimiter(',')
        ->type_name("A,B")
        ->check(not_empty());
    command->add_option("--plans", options->plans, "try the plans of this file, one per line, too")
        ->type_name("FILE")
        ->check(not_empty());
    command->add_option("--candidates", options->most, "of each family, best modelled first")->capture_default_str();
    command->add_option("--random", options->random, "further candidates, drawn from the rest of the space");
    command->add_flag("--pack-each-time", options->pack_each_time,
                      "as in training: kernels that pack their weights do so at each launch, not once before");
    command->add_option("--jobs", options->jobs, "compilers at a time; all cores where not given");
    command->add_option("--merge", options->merge, "tune nothing: add the records of these files and directories")
        ->type_name("FILE...")
        ->expected(1, CLI::detail::expected_max_vector_size)
        ->check(not_empty());
    command->add_option("--records", options->records, "where to; default: the user's (docs/tuning.md)")
        ->type_name("FILE|DIR")
        ->check(not_empty());
    command->callback([options, &status] {
        status = options->merge.empty() ? autotune(*options) : merge(options->merge, options->records);
    });
}

}  // namespace convt_jit::tools
