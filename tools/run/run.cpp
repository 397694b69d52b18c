#include "run/run.h"

#include "subject/answer.h"
#include "subject/apart.h"
#include "subject/argument.h"
#include "subject/check.h"
#include "subject/choice.h"
#include "subject/message.h"
#include "subject/model_choice.h"
#include "subject/output_file.h"
#include "subject/progress.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

namespace convt_jit::tools {
namespace {

struct Options {
    LayerChoice layers;
    ModelChoice model;
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

// A layer to be run, and the node of the model that it comes from.
struct Task {
    NamedLayer named;
    const onnx_import::ImportedLayer* node = nullptr;
};

struct Outcome {
    Task task;
    std::optional<Shape> shape;  // unset: not known
    std::string random;          // which of a node's tensors the model does not hold
    KernelInfo info;
    double run_ms = 0;
    std::optional<Verdict> verdict;
    std::string failure;  // empty: it ran
    [[nodiscard]] bool good() const { return failure.empty() && (!verdict || verdict->right()); }
};

// What makes no sense is found before anything runs.
void check_usage(const Options& options, const std::vector<Task>& tasks) {
    if (!options.dump_source.empty() && tasks.size() != 1)
        throw LayerError("--dump-source", fmt::format("one file for {} layers", tasks.size()), "a single layer");
    if (options.dump_source == "-" && options.json)
        throw LayerError("--dump-source", "standard output", "a file, since --json prints there");
    if (!options.dump_source.empty())
        expect_apart({"--dump-source", options.dump_source},
                     {{"--layers", options.layers.file}, {"--onnx", options.model.file}});
    for (const Task& task : tasks) {
        if (task.node != nullptr && !task.node->failure.empty()) continue;
        options.plan.check(task.named);
        break;
    }
}

// Why a node cannot be run; empty: it can.
std::string trouble(const onnx_import::ImportedLayer& node) {
    if (!node.failure.empty() || node.unknown_sizes.empty()) return node.failure;
    return fmt::format(
        "the sizes of X are not known: {}; allowed: known ones, --shape gives those of the model's inputs",
        node.unknown_sizes);
}

Outcome run_task(Engine& engine, const Device& device, const Task& task, const onnx_import::Model* model,
                 const Options& options, Progress& progress) {
    Outcome outcome;
    outcome.task = task;
    if (task.node != nullptr) outcome.failure = trouble(*task.node);
    if (!outcome.failure.empty()) return outcome;
    const NamedLayer& named = task.named;
    const Shape shape = known_shape(named.layer);
    outcome.shape = shape;
    try {
        progress.step("preparing a kernel");
        PrepareOptions prepare = options.prepare();
        prepare.device = device;
        const Kernel kernel = engine.prepare(named.layer, prepare);
        outcome.info = kernel.info();
        if (!options.dump_source.empty()) write_file(options.dump_source, kernel.source());
        progress.step("filling the tensors");
        HostTensors host = random_tensors(named.layer, shape, options.seed);
        if (task.node != nullptr) outcome.random = take_weights(host, *model, *task.node);
        const std::size_t y_element = outcome.info.family == "reference" ? sizeof(double) : size_of(named.layer.dtype);
        const DeviceTensors tensors(device, named.layer, host, sizes(named.layer, shape).y, y_element);
        progress.step(device.is_cuda() ? "running" : "running on the simulator");
        Timer timer(device);
        timer.start(nullptr);
        kernel.launch(tensors.pointers(), shape);
        timer.stop(nullptr);
        outcome.run_ms = timer.milliseconds();
        if (options.check || (task.node != nullptr && outcome.info.family != "reference")) {
            if (outcome.info.family == "reference")
                throw UnsupportedError("the reference family is what --check judges by; it is not judged itself");
            progress.step("comparing with the definition");
            outcome.verdict = check(engine, device, named.layer, shape, host, tensors.download_y());
        }
    } catch (const std::bad_alloc&) {
        outcome.failure = no_host_memory(named.layer, shape);
    } catch (const std::length_error&) {  // more than a vector can ever hold
        outcome.failure = no_host_memory(named.layer, shape);
    } catch (const std::exception& error) {
        outcome.failure = error.what();
    }
    return outcome;
}

nlohmann::json to_json_object(const Outcome& o, const Device& device) {
    const NamedLayer& named = o.task.named;
    nlohmann::json j = {{"name", named.name},
                        {"backend", device.is_cuda() ? "cuda" : "sim"},
                        {"device", device.name()},
                        {"ok", o.good()}};
    if (o.shape)
        j.update({{"layer", to_string(named.layer)}, {"output", to_string(output_size(named.layer, o.shape->input))}});
    if (o.task.node != nullptr) {
        j["onnx"] = node_json(*o.task.node);
        if (!o.random.empty()) j["onnx"]["random"] = o.random;
    }
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
    const NamedLayer& named = o.task.named;
    const bool has_layer = o.task.node == nullptr || o.task.node->failure.empty();
    fmt::print("{}{}\n", named.name.empty() ? "" : shown_in_line(named.name) + ": ",
               has_layer ? to_string(named.layer) : "no layer");
    if (!o.failure.empty()) {
        fmt::print("  FAILED   {}\n", shown(o.failure));
        return;
    }
    if (o.task.node != nullptr)
        if (const std::string more = details(*o.task.node); !more.empty())
            fmt::print("  onnx     {}\n", shown_in_line(more));
    if (!o.random.empty()) fmt::print("  tensors  {}\n", o.random);
    fmt::print("  output   {}x{}x{}\n", o.shape->batch, named.layer.out_channels,
               to_string(output_size(named.layer, o.shape->input)));
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

std::vector<Task> tasks_of(const Options& options, const onnx_import::Model* model) {
    std::vector<Task> tasks;
    if (model == nullptr || options.layers.given())
        for (NamedLayer& named : options.layers.layers()) tasks.push_back({std::move(named)});
    if (model != nullptr)
        for (const onnx_import::ImportedLayer& node : model->imported().layers) tasks.push_back({node.named, &node});
    return tasks;
}

int run(const Options& options) {
    const std::shared_ptr<const onnx_import::Model> model = options.model.open();
    const std::vector<Task> tasks = tasks_of(options, model.get());
    check_usage(options, tasks);
    std::string why;
    const Device device = options.backend.device(why);
    if (!options.json) fmt::print("backend: {} ({})\n", shown_in_line(device.name()), shown_in_line(why));
    Engine engine;
    nlohmann::json all = nlohmann::json::array();
    bool good = true;
    std::size_t count = 0;
    Progress progress;
    for (const Task& task : tasks) {
        progress.about(fmt::format("[{}/{}] {}: ", ++count, tasks.size(), title(task.named)));
        const Outcome outcome = run_task(engine, device, task, model.get(), options, progress);
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
    options->model.add_to(*command);
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
