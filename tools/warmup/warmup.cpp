#include "warmup/warmup.h"

#include "cache/place.h"
#include "subject/arch.h"
#include "subject/argument.h"
#include "subject/choice.h"
#include "subject/message.h"
#include "subject/notices.h"
#include "subject/output_file.h"
#include "subject/progress.h"
#include "subject/usage_error.h"
#include "warmup/fill.h"
#include "warmup/report.h"
#include "warmup/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

namespace convt_jit::tools {
namespace {

struct Options {
    LayerChoice layers;
    Place place;
    std::vector<std::string> archs;
    std::string dtype, shard, manifest;
    int jobs = 0;
    bool check = false, exact_nonfinite = false;
};

std::vector<Job> chosen_jobs(const Options& options, const PrepareOptions& prepare, Interruption& interruption) {
    std::vector<NamedLayer> layers = options.layers.layers(InputSize::optional);
    if (!options.dtype.empty())
        for (NamedLayer& named : layers) set_dtype(named.layer, options.dtype);
    const auto archs = parse_archs(options.archs);
    const Shard shard = options.shard.empty() ? Shard{} : parse_shard(options.shard);
    if (options.manifest == "-" && options.place.json)
        throw UsageError("--manifest -: --json prints to standard output, too");

    Progress progress;
    progress.step("rendering");
    // All of them, whatever the shard: only then is it known which layers share a kernel.
    std::vector<Job> all = make_jobs(layers, archs, prepare, [&] { return interruption.count() > 0; });
    std::vector<Job> ours;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (shard.takes(i)) ours.push_back(std::move(all[i]));
    return ours;
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

int run(const Options& options) {
    Notices notices;
    const auto begin = std::chrono::steady_clock::now();
    // Bad usage is told before anything is done. A directory to be checked that is not there is a mistyped one, where
    // it was named; else nothing has been cached yet.
    const Cache cache = options.check && options.place.directory ? options.place.existing() : options.place.any();
    if (!options.manifest.empty()) expect_writable(options.manifest);
    Interruption interruption;
    PrepareOptions prepare;
    prepare.exact_nonfinite = options.exact_nonfinite;
    const std::vector<Job> jobs = chosen_jobs(options, prepare, interruption);
    if (!options.check && !jobs.empty()) expect_cache_to_keep(options, cache, jobs);
    Filling filling;
    if (options.check)
        filling.results = check(jobs);
    else
        filling = fill(jobs, {prepare, options.jobs}, interruption, notices);
    if (!options.check) mark_evicted(filling.results);
    if (!options.manifest.empty()) write_file(options.manifest, manifest(jobs, filling.results));
    const Tally tally = count(filling.results);
    // A signal that comes when all is done has interrupted nothing.
    const bool interrupted = interruption.count() > 0 && (tally.left > 0 || jobs.empty());
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const Report report{jobs, filling, seconds, options.check, interrupted};
    if (options.place.json)
        print_json(report);
    else if (options.manifest != "-")
        print_text(report);
    finish_output();
    return interrupted ? interruption.exit_code() : tally.good() ? 0 : 1;
}

}  // namespace

void add_warmup(CLI::App& app, int& status) {
    auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("warmup", "Compile layers into the cache; needs no GPU");
    options->layers.add_to(*command);
    options->place.add_to(*command);
    command->add_option("--arch", options->archs, "for which archs: sm_80,sm_90a")
        ->type_name("A,B")
        ->allow_extra_args(false)  // what follows the one value may be a layer
        ->required();
    command->add_option("--dtype", options->dtype, "take all layers in this instead of their own")
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
    command->callback([options, &status] { status = run(*options); });
}

}  // namespace convt_jit::tools
