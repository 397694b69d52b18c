#include "run/run.h"

#include "subject/answer.h"
#include "subject/apart.h"
#include "subject/argument.h"
#include "subject/check.h"
#include "subject/choice.h"
#include "subject/message.h"
#include "subject/output_file.h"
#include "subject/progress.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>

namespace convt_jit::tools {
namespace {

struct Options {
    LayerChoice layers;
    BackendChoice backend;
    PlanChoice plan;
    bool check = false, json = false, exact_nonfinite = false;
    std::string dump_source;
    std::uint64_t seed = 1;

    [[nodiscard]] PrepareOptions prepare() const {
        PrepareOptions prepare;
        prepare.plan = plan.text;
        prepare.exact_nonfinite = exact_nonfinite;
        return prepare;
    }
};

struct Outcome {
    NamedLayer named;
    Shape shape;
    KernelInfo info;
    double run_ms = 0;
    std::optional<Verdict> verdict;
    std::string failure;  // empty: it ran
    [[nodiscard]] bool good() const { return failure.empty() && (!verdict || verdict->right()); }
};

// What makes no sense is found before anything runs.
void check_usage(const Options& options, const std::vector<NamedLayer>& layers) {
    if (!options.dump_source.empty() && layers.size() != 1)
        throw LayerError("--dump-source", fmt::format("one file for {} layers", layers.size()), "a single layer");
    if (options.dump_source == "-" && options.json)
        throw LayerError("--dump-source", "standard output", "a file, since --json prints there");
    if (!options.dump_source.empty())
        expect_apart({"--dump-source", options.dump_source}, {{"--layers", options.layers.file}});
    options.plan.check(layers.front());
}

Outcome run_layer(Engine& engine, const Device& device, const NamedLayer& named, const Options& options,
                  Progress& progress) {
    Outcome outcome;
    outcome.named = named;
    outcome.shape = known_shape(named.layer);
    try {
        progress.step("preparing a kernel");
        PrepareOptions prepare = options.prepare();
        prepare.device = device;
        const Kernel kernel = engine.prepare(named.layer, prepare);
        outcome.info = kernel.info();
        if (!options.dump_source.empty()) write_file(options.dump_source, kernel.source());
        progress.step("filling the tensors");
        const HostTensors host = random_tensors(named.layer, outcome.shape, options.seed);
        const std::size_t y_element = outcome.info.family == "reference" ? sizeof(double) : size_of(named.layer.dtype);
        const DeviceTensors tensors(device, named.layer, host, sizes(named.layer, outcome.shape).y, y_element);
        progress.step(device.is_cuda() ? "running" : "running on the simulator");
        Timer timer(device);
        timer.start(nullptr);
        kernel.launch(tensors.pointers(), outcome.shape);
        timer.stop(nullptr);
        outcome.run_ms = timer.milliseconds();
        if (options.check) {
            if (outcome.info.family == "reference")
                throw UnsupportedError("the reference family is what --check judges by; it is not judged itself");
            progress.step("comparing with the definition");
            outcome.verdict = check(engine, device, named.layer, outcome.shape, host, tensors.download_y());
        }
    } catch (const std::bad_alloc&) {
        outcome.failure = no_host_memory(named.layer, outcome.shape);
    } catch (const std::length_error&) {  // more than a vector can ever hold
        outcome.failure = no_host_memory(named.layer, outcome.shape);
    } catch (const std::exception& error) {
        outcome.failure = error.what();
    }
    return outcome;
}

nlohmann::json to_json_object(const Outcome& o, const Device& device) {
    nlohmann::json j = {{"name", o.named.name},
                        {"layer", to_string(o.named.layer)},
                        {"backend", device.is_cuda() ? "cuda" : "sim"},
                        {"device", device.name()},
                        {"output", to_string(output_size(o.named.layer, o.shape.input))},
                        {"ok", o.good()}};
    if (!o.failure.empty()) {
        j["error"] = o.failure;
        return j;
    }
    j.update({{"family", o.info.family},
              {"plan", o.info.plan},
              {"arch", o.info.arch},
              {"key", o.info.key},
              {"origin", to_string(o.info.origin)},
              {"render_ms", o.info.render_ms},
              {"compile_ms", o.info.compile_ms},
              {"load_ms", o.info.load_ms},
              {"run_ms", o.run_ms},
              {"registers", o.info.registers},
              {"shared_bytes", o.info.shared_bytes}});
    if (o.verdict)
        j.update({{"rel_l2", o.verdict->errors.rel_l2},
                  {"max_abs", o.verdict->errors.max_abs},
                  {"wrong_nonfinite", o.verdict->errors.wrong_nonfinite},
                  {"allowed_rel_l2", o.verdict->allowed},
                  {"against", o.verdict->against}});
    if (!o.good()) j["error"] = "the result is wrong";
    return j;
}

void print(const Outcome& o) {
    fmt::print("{}{}\n", o.named.name.empty() ? "" : shown_in_line(o.named.name) + ": ", to_string(o.named.layer));
    if (!o.failure.empty()) {
        fmt::print("  FAILED   {}\n", shown(o.failure));
        return;
    }
    fmt::print("  output   {}x{}x{}\n", o.shape.batch, o.named.layer.out_channels,
               to_string(output_size(o.named.layer, o.shape.input)));
    fmt::print("  plan     {}\n", shown_in_line(o.info.plan));
    fmt::print("  kernel   {}, {} threads, {} registers, {} bytes shared\n", o.info.arch, o.info.threads,
               o.info.registers, o.info.shared_bytes);
    fmt::print("  from     {}: render {:.2f} ms, compile {:.1f} ms, load {:.2f} ms; run {:.3f} ms\n",
               to_string(o.info.origin), o.info.render_ms, o.info.compile_ms, o.info.load_ms, o.run_ms);
    if (o.verdict)
        fmt::print("  {}    relative L2 error {:.2e} (allowed {:.1e}), largest {:.2e}, against {}{}\n",
                   o.verdict->right() ? "right" : "WRONG", o.verdict->errors.rel_l2, o.verdict->allowed,
                   o.verdict->errors.max_abs, o.verdict->against,
                   o.verdict->errors.wrong_nonfinite == 0
                       ? ""
                       : fmt::format(", {} elements wrongly NaN or infinite", o.verdict->errors.wrong_nonfinite));
}

int run(const Options& options) {
    const std::vector<NamedLayer> layers = options.layers.layers();
    check_usage(options, layers);
    std::string why;
    const Device device = options.backend.device(why);
    if (!options.json) fmt::print("backend: {} ({})\n", shown_in_line(device.name()), shown_in_line(why));
    Engine engine;
    nlohmann::json all = nlohmann::json::array();
    bool good = true;
    std::size_t count = 0;
    Progress progress;
    for (const NamedLayer& named : layers) {
        progress.about(fmt::format("[{}/{}] {}: ", ++count, layers.size(), title(named)));
        const Outcome outcome = run_layer(engine, device, named, options, progress);
        good = good && outcome.good();
        progress.done();
        if (options.json)
            all.push_back(to_json_object(outcome, device));
        else
            print(outcome);
    }
    if (options.json) tools::print(all);
    finish_output();
    return good ? 0 : 1;
}

}  // namespace

void add_run(CLI::App& app, int& status) {
    auto options = std::make_shared<Options>();
    CLI::App* const command = app.add_subcommand("run", "Run layers, and check the results with --check");
    options->layers.add_to(*command);
    options->backend.add_to(*command);
    command->add_flag("--check", options->check, "compare every element with the definition in f64");
    command->add_flag("--json", options->json, "print one JSON array");
    command->add_option("--dump-source", options->dump_source, "write the rendered source there (-: standard output)")
        ->type_name("FILE")
        ->check(not_empty());
    command->add_option("--seed", options->seed, "of the random tensors")
        ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
        ->capture_default_str();
    options->plan.add_to(*command);
    command->add_flag("--exact-nonfinite", options->exact_nonfinite, "keep non-finite weights exact at the border");
    command->callback([options, &status] { status = answered(options->json, [&] { return run(*options); }); });
}

}  // namespace convt_jit::tools
