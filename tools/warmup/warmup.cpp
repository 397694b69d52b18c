#include "warmup/warmup.h"

#include "cache/place.h"
#include "subject/answer.h"
#include "subject/apart.h"
#include "subject/arch.h"
#include "subject/argument.h"
#include "subject/capacity.h"
#include "subject/choice.h"
#include "subject/message.h"
#include "subject/model_choice.h"
#include "subject/notices.h"
#include "subject/output_file.h"
#include "subject/progress.h"
#include "subject/usage_error.h"
#include "warmup/directory_watch.h"
#include "warmup/fill.h"
#include "warmup/kernels.h"
#include "warmup/report.h"
#include "warmup/shard.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace convt_jit::tools {
namespace {

struct Options {
    LayerChoice layers;
    ModelChoice model;
    Place place;
    std::vector<std::string> archs;
    std::string dtype, shard, manifest;
    int jobs = 0;
    bool check = false, exact_nonfinite = false;
};

// What was named, read before signals are held back: a file may be a pipe that nobody writes to.
struct Choice {
    std::vector<NamedLayer> layers;
    std::vector<std::string> archs;
    Shard shard;
    std::shared_ptr<const onnx_import::Model> model;  // whose nodes are among the layers; may be null
};

Choice read(const Options& options) {
    const std::shared_ptr<const onnx_import::Model> model = options.model.open();
    Choice choice{{}, parse_archs(options.archs), options.shard.empty() ? Shard{} : parse_shard(options.shard), model};
    if (model == nullptr || options.layers.given()) choice.layers = options.layers.layers(InputSize::optional);
    if (model != nullptr)
        for (const onnx_import::ImportedLayer& node : model->imported().layers)
            if (node.failure.empty()) choice.layers.push_back(node.named);
    if (!options.dtype.empty())
        for (NamedLayer& named : choice.layers) set_dtype(named.layer, options.dtype);
    return choice;
}

struct Work {
    std::vector<Job> jobs;  // of the shard
    Kernels kernels;        // of all shards
};

// Nodes that are no layers stand where their kernels would.
void add_failures(std::vector<Job>& jobs, const onnx_import::Model& model, const std::vector<std::string>& archs) {
    for (const onnx_import::ImportedLayer& node : model.imported().layers)
        for (const std::string& arch : archs)
            if (!node.failure.empty()) jobs.push_back({{{node.named, arch}}, std::nullopt, node.failure});
}

Work make_work(const Choice& choice, const PrepareOptions& prepare, Interruption& interruption) {
    Progress progress;
    progress.step("rendering");
    // All of them, whatever the shard: only then is it known which layers share a kernel.
    std::vector<Job> all = make_jobs(choice.layers, choice.archs, prepare, TuningRecords::standard(),
                                     [&] { return interruption.count() > 0; });
    if (choice.model != nullptr) add_failures(all, *choice.model, choice.archs);
    Work work{{}, kernels_of(all)};
    for (std::size_t i = 0; i < all.size(); ++i)
        if (choice.shard.takes(i)) work.jobs.push_back(std::move(all[i]));
    return work;
}

// Before the first kernel: what a cache does not keep is compiled in vain. Where all is there already, nothing has to
// be kept.
void expect_cache_to_keep(const Options& options, const Cache& cache, const std::vector<Job>& jobs) {
    const std::string trouble = cache.trouble();
    if (trouble.empty()) return;
    const std::vector<JobResult> there = check(jobs);
    if (std::all_of(there.begin(), there.end(), [](const JobResult& result) { return result.state == State::found; }))
        return;
    const CacheError error(
        cache.directory(),
        fmt::format("it keeps nothing: {} (--cache or CONVT_JIT_CACHE_DIR names another directory)", trouble));
    if (options.place.mistyped(cache)) throw UsageError(error.what());
    throw error;
}

// The one that is written to and has a cap. There is one: a Cache was made of it.
std::string own_directory() { return cache_directories().front(); }

// Why what was in the cache is not there at the end.
std::string why_lost(const std::string& directory, const DirectoryWatch& watch) {
    if (watch.gone()) return fmt::format("it was in the cache, and {} was removed or renamed meanwhile", directory);
    const std::uint64_t cap = cache_max_bytes();
    const std::string evicted =
        cap == 0 ? std::string("another process has a cap (CONVT_JIT_CACHE_MAX_BYTES)")
                 : fmt::format("CONVT_JIT_CACHE_MAX_BYTES, {} bytes here, is too small for all", cap);
    return fmt::format("it was in the cache and is there no longer: evicted, if {}, or else removed by somebody",
                       evicted);
}

struct Done {
    std::vector<Job> jobs;
    Filling filling;
    Capacity capacity;
    std::optional<int> interrupted;  // the exit code then
};

Done look(Work work) {
    Done done{std::move(work.jobs), {}, {0, cache_max_bytes()}, {}};
    done.filling.results = check(done.jobs);
    const std::string own = own_directory();
    for (const JobResult& result : done.filling.results)
        if (result.directory == own) done.capacity.needed += result.bytes;
    return done;
}

Done compile(Work work, const PrepareOptions& prepare, int most_jobs, Interruption& interruption, Notices& notices) {
    const DirectoryWatch watch(own_directory());
    Filling filling = fill(work.jobs, {prepare, most_jobs}, interruption, notices);
    Done done{std::move(work.jobs), std::move(filling), {0, cache_max_bytes()}, {}};
    auto directories = cache_directories();
    std::vector<CacheEntry> entries = entries_in({directories.front()});
    done.capacity.needed = bytes_of(entries, work.kernels);
    directories.erase(directories.begin());
    for (CacheEntry& entry : entries_in(directories)) entries.push_back(std::move(entry));
    mark_lost(done.filling.results, entries, why_lost(own_directory(), watch));
    return done;
}

// From here on a signal is looked at, and what is begun is finished.
Done carry_out(const Options& options, const Choice& choice, const Cache& cache, Notices& notices) {
    Interruption interruption;
    PrepareOptions prepare;
    prepare.exact_nonfinite = options.exact_nonfinite;
    Work work = make_work(choice, prepare, interruption);
    const bool nothing = work.jobs.empty();
    if (!options.check && !nothing) expect_cache_to_keep(options, cache, work.jobs);
    Done done =
        options.check ? look(std::move(work)) : compile(std::move(work), prepare, options.jobs, interruption, notices);
    // A signal that comes when all is done has interrupted nothing.
    if (interruption.count() > 0 && (count(done.filling.results).left > 0 || nothing))
        done.interrupted = interruption.exit_code();
    return done;
}

// What the model's nodes are: for JSON, and where it is wanted as text.
nlohmann::json told_nodes(const onnx_import::Model* model, bool as_text) {
    nlohmann::json nodes = nlohmann::json::array();
    if (model == nullptr) return nodes;
    for (const onnx_import::ImportedLayer& node : model->imported().layers) {
        nodes.push_back(node_json(node));
        if (!node.failure.empty()) continue;  // told with what failed
        std::string more = details(node);
        if (const std::string trouble = model->external_trouble(node); !trouble.empty()) {
            nodes.back()["weights_trouble"] = trouble;
            more += fmt::format("{}{}; not needed here", more.empty() ? "" : "; ", trouble);
        }
        if (as_text)
            fmt::print("{}: {}{}\n", shown_in_line(node.named.name), to_string(node.named.layer),
                       more.empty() ? "" : fmt::format(" ({})", shown_in_line(more)));
    }
    return nodes;
}

int run(const Options& options) {
    Notices notices;
    const auto begin = std::chrono::steady_clock::now();
    // Bad usage is told before anything is done. A directory to be checked that is not there is a mistyped one, where
    // it was named; else nothing has been cached yet.
    const Cache cache = options.check && options.place.directory ? options.place.existing() : options.place.any();
    if (options.manifest == "-" && options.place.json)
        throw UsageError("--manifest -: --json prints to standard output, too");
    if (!options.manifest.empty()) {
        expect_apart({"--manifest", options.manifest},
                     {{"--layers", options.layers.file}, {"--onnx", options.model.file}});
        expect_writable(options.manifest);
    }
    const Choice choice = read(options);
    const nlohmann::json nodes = told_nodes(choice.model.get(), !options.place.json && options.manifest != "-");
    const Done done = carry_out(options, choice, cache, notices);
    if (!options.manifest.empty()) write_file(options.manifest, manifest(done.jobs, done.filling.results));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const Report report{done.jobs,     done.filling, seconds, options.check, done.interrupted.has_value(),
                        done.capacity, nodes};
    if (options.place.json)
        print_json(report);
    else if (options.manifest != "-")
        print_text(report);
    finish_output();
    if (const std::string told = warning(done.capacity, own_directory()); !told.empty()) complain(shown_in_line(told));
    if (done.interrupted) return *done.interrupted;
    // What is going to be lost is not warmed. Who only looks is told what there is.
    return count(done.filling.results).good() && (options.check || !done.capacity.exceeded()) ? 0 : 1;
}

}  // namespace

void add_warmup(CLI::App& app, int& status) {
    auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("warmup", "Compile layers into the cache; needs no GPU");
    options->layers.add_to(*command);
    options->model.add_to(*command);
    options->place.add_to(*command);
    command->add_option("--arch", options->archs, "for which archs: sm_80,sm_90a")
        ->type_name("A,B")
        ->allow_extra_args(false)  // what follows the one value may be a layer
        ->required();
    command->add_option("--dtype", options->dtype, "take all layers in this instead of their own")
        ->check(not_empty())
        ->check(CLI::IsMember({"f32", "tf32", "f16", "bf16"}));
    command->add_option("--jobs", options->jobs, "at most so many compilers at a time; default: one per processor")
        ->transform(whole_number(1, 4096));
    command->add_option("--shard", options->shard, "do only part I of N, counted from 0")
        ->type_name("I/N")
        ->check(not_empty());
    command->add_flag("--check", options->check, "compile nothing; exit code 1 where something is missing");
    command->add_option("--manifest", options->manifest, "write what the cache holds now, a JSON object a line")
        ->type_name("FILE")
        ->check(not_empty());
    command->add_flag("--exact-nonfinite", options->exact_nonfinite, "as they are prepared with that option");
    command->callback([options, &status] { status = answered(options->place.json, [&] { return run(*options); }); });
}

}  // namespace convt_jit::tools
