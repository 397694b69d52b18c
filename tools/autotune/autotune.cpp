#include "autotune/autotune.h"

#include "autotune/finding.h"
#include "autotune/merge.h"
#include "autotune/options.h"
#include "autotune/outputs.h"
#include "autotune/scratch_cache.h"
#include "autotune/tuned_file.h"
#include "autotune/tuning.h"
#include "autotune/worker.h"
#include "bench/roofline.h"
#include "cache/place.h"
#include "commit.h"
#include "subject/json_text.h"
#include "subject/message.h"
#include "subject/output_file.h"
#include "subject/quantity.h"
#include "subject/usage_error.h"
#include "warmup/budget.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <set>

namespace convt_jit::tools {
namespace {

std::vector<NamedLayer> chosen_layers(const AutotuneOptions& options) {
    std::vector<NamedLayer> layers = options.layers.layers();
    expect_work(layers);
    if (!options.dtype.empty())
        for (NamedLayer& named : layers) set_dtype(named.layer, options.dtype);
    return layers;
}

void print(const TunedLayer& layer) {
    const Tuned& t = layer.tuned;
    if (t.plan.empty()) {
        fmt::print("{:<18} FAILED {}\n", title(layer.named), shown(layer.failure));
    } else {
        const std::string gain = t.default_ms > 0 ? fmt::format("{:.2f}x the default", t.default_ms / t.ms)
                                                  : std::string("the default failed");
        fmt::print("{:<18} {:.4f} ms  {}  {}\n", title(layer.named), t.ms, gain, t.plan);
    }
    // A fault that somebody has to mend.
    constexpr std::size_t kTold = 3;
    std::size_t faults = 0;
    for (const Candidate& c : t.candidates) {
        if (c.state != CandidateState::wrong && c.state != CandidateState::hung) continue;
        if (++faults <= kTold) fmt::print("{:<18} FAULT: {}: {}: {}\n", "", to_string(c.state), c.plan, shown(c.why));
    }
    if (faults > kTold) fmt::print("{:<18} and {} more candidates that are wrong or hang\n", "", faults - kTold);
    std::fflush(stdout);
}

// The winner is where the application will look for it.
void keep(const ScratchCache& scratch, const TunedLayer& layer, const std::string& arch) {
    if (!scratch.users() || layer.tuned.plan.empty()) return;
    EngineOptions options;
    options.cache_dir = scratch.users();
    options.cache_path = std::vector<std::string>();
    PrepareOptions prepare;
    prepare.plan = layer.tuned.plan;
    (void)Engine(options).compile(layer.named.layer, arch, prepare);
}

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

// The files where a record of the layer was written.
std::set<std::string> keep_record(const std::string& path, const TunedLayer& layer, const CardFacts& facts,
                                  bool pack_each_time) {
    if (path.empty()) return {};
    const auto record = finding(layer.named.layer, layer.tuned, facts, clocks_now(),
                                pack_each_time ? MeasuredWeights::changing : MeasuredWeights::constant, now());
    if (!record) return {};
    const std::vector<std::string> files = update_records(path, {*record});
    return {files.begin(), files.end()};
}

std::string command_line(const AutotuneOptions& options) {
    std::string line = "convt autotune";
    if (!options.layers.file.empty()) line += " --layers " + options.layers.file;
    if (!options.dtype.empty()) line += " --dtype " + options.dtype;
    if (!options.families.empty()) line += fmt::format(" --families {}", fmt::join(options.families, ","));
    line += options.exhaustive ? " --exhaustive" : " --budget " + options.budget;
    line += fmt::format(" --candidates {}", options.most);
    if (options.pack_each_time) line += " --pack-each-time";
    if (options.plain_launches) line += " --plain-launches";
    return line;
}

int autotune(const AutotuneOptions& options) {
    if (options.report.from_files()) {
        spare_records({options.report.option, options.report.html}, "");
        options.report.write_from_files();
        return 0;
    }
    const std::vector<NamedLayer> layers = chosen_layers(options);
    const auto budget = parse_duration(options.budget);
    constexpr double kMostBudget = 365 * 86400.0;
    if (!budget || *budget <= 0 || *budget > kMostBudget)
        throw UsageError(fmt::format("--budget: \"{}\"; allowed: a time for each layer, as 30s or 2m, up to 365d",
                                     options.budget.substr(0, 60)));
    if (options.cache) Place{options.cache, false}.settle();
    expect_outputs(options);
    const std::string records = records_path(options);
    const std::vector<std::string> first =
        options.plans.empty() ? std::vector<std::string>() : read_plans(options.plans);
    std::string missing;
    if (options.surface.empty() && Device::cuda_count(&missing) == 0)
        throw UnsupportedError("autotune needs a GPU (" + missing + "); the simulator's times say nothing");

    const ScratchCache scratch;
    Progress progress;
    progress.step("starting the measuring process, measuring the bandwidth of a copy");
    TuningOptions tuning;
    tuning.budget_seconds = *budget;
    tuning.exhaustive = options.exhaustive;
    tuning.jobs = static_cast<std::size_t>(jobs_allowed(this_machine(), options.jobs, 0));
    tuning.worker_arguments = tune_worker_arguments(options.pack_each_time, options.plain_launches, options.surface);
    Measurer measurer(tuning.worker_arguments,
                      std::chrono::milliseconds(static_cast<std::int64_t>(options.patience * 1e3)));
    TunedRun run{measurer.facts(), kCommit, command_line(options), {}};
    const CardFacts& facts = run.facts;
    Journal journal(journal_of(options),
                    fmt::format("{}, driver {}, NVRTC {}, {}{}{}", facts.card, facts.driver, facts.toolkit, kCommit,
                                options.pack_each_time ? ", packed each time" : "",
                                options.plain_launches ? ", plain launches" : ""));
    if (journal.size() > 0)
        fmt::print(stderr, "convt: going on from {} measurements of {}\n", journal.size(), journal_of(options));
    int failed = 0;
    std::set<std::string> written;
    for (const NamedLayer& named : layers) {
        progress.about(fmt::format("[{}/{}] {}: ", run.layers.size() + 1, layers.size(), title(named)));
        progress.step("listing candidates");
        TunedLayer layer{named, {}, ""};
        try {
            const auto plans = tuning_candidates(named.layer, facts.arch, first, options.families, options.most);
            layer.tuned = tune(named.layer, facts.arch, plans, tuning, measurer, journal, progress);
            layer.tuned.speed_of_light_ms = speed_of_light_ms(named.layer, known_shape(named.layer),
                                                              facts.copy_tb_per_s * 1e12, measured_rates(facts.card));
            if (layer.tuned.plan.empty())
                layer.failure = layer.tuned.candidates.empty()
                                    ? "there is no candidate"
                                    : "no candidate is right: " + layer.tuned.candidates.front().why;
            if (options.surface.empty()) keep(scratch, layer, facts.arch);
            written.merge(keep_record(records, layer, facts, options.pack_each_time));
        } catch (const std::exception& error) {
            layer.failure = error.what();
        }
        failed += layer.failure.empty() ? 0 : 1;
        progress.done();
        print(layer);
        run.layers.push_back(std::move(layer));
        // After each layer: a run that is cut short keeps what it has.
        if (!options.json.empty()) write_file(options.json, json_text(to_json(run), 1) + "\n");
        options.report.write(to_json(run));
    }
    if (!options.json.empty()) journal.remove();
    for (const std::string& file : written) fmt::print("records: {}\n", shown_in_line(file));
    finish_output();
    return failed == 0 ? 0 : 1;
}

}  // namespace

void add_autotune(CLI::App& app, int& status) {
    auto options = std::make_shared<AutotuneOptions>();
    CLI::App* const command = app.add_subcommand("autotune", "Find the fastest plan of layers on this GPU");
    options->add_to(*command);
    command->callback([options, &status] {
        status = options->merge.empty() ? autotune(*options) : merge(options->merge, options->records);
    });
}

}  // namespace convt_jit::tools
