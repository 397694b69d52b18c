#include "bench/bench.h"

#include "bench/result_file.h"
#include "bench/roofline.h"
#include "commit.h"
#include "subject/apart.h"
#include "subject/argument.h"
#include "subject/bandwidth.h"
#include "subject/check.h"
#include "subject/message.h"
#include "subject/output_file.h"
#include "subject/progress.h"
#include "subject/trial.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>

namespace convt_jit::tools {
namespace {

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

double spread(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return (values[values.size() * 3 / 4] - values[values.size() / 4]) / values[values.size() / 2];
}

std::vector<NamedLayer> chosen_layers(const BenchOptions& options) {
    std::vector<NamedLayer> layers = options.layers.layers();
    std::erase_if(layers, [&](const NamedLayer& named) {
        return named.name.find(options.filter) == std::string::npos &&
               to_string(named.layer).find(options.filter) == std::string::npos;
    });
    if (layers.empty()) throw LayerError("--filter", options.filter, "a part of the name or string of some layer");
    if (!options.dtype.empty())
        for (NamedLayer& named : layers) set_dtype(named.layer, options.dtype);
    expect_work(layers);
    return layers;
}

int bench(const BenchOptions& options) {
    const std::vector<NamedLayer> layers = chosen_layers(options);
    options.plan.check(layers.front());
    // Its y is f64, and there is nothing to judge it by.
    if (options.plan.family() == "reference")
        throw LayerError("--plan", "\"reference\"", "a family that computes in the dtype of the layer");
    if (!options.json.empty()) {
        expect_apart({"--json", options.json}, {{"--layers", options.layers.file}});
        expect_writable(options.json);
    }
    options.report.expect_writable({{"--layers", options.layers.file}});
    expect_distinct({{"--json", options.json}, {options.report.option, options.report.html}});
    std::string missing;
    if (Device::cuda_count(&missing) == 0)
        throw UnsupportedError("bench needs a GPU (" + missing + "); the simulator's times say nothing");
    const Device device = Device::best();
    Progress progress;
    progress.step("measuring the bandwidth of a copy");
    Environment environment{device.name(), device.driver_version(), nvrtc_version(),
                            kCommit,       command_line(options),   copy_bytes_per_second(device) * 1e-12,
                            true};
    const std::optional<Rates> rates = measured_rates(environment.card);
    environment.operations_counted = rates.has_value();
    const Buffer flush = flush_of(device);
    Engine engine;
    std::vector<Result> results;
    for (const NamedLayer& named : layers) {
        progress.about(fmt::format("[{}/{}] {}: ", results.size() + 1, layers.size(), title(named)));
        progress.step("preparing it");
        Result result;
        result.named = named;
        try {
            PrepareOptions prepare;
            prepare.device = device;
            prepare.plan = options.plan.text;
            const Kernel kernel = engine.prepare(named.layer, prepare);
            const WeightsAre weights = options.pack_each_time ? WeightsAre::changing : WeightsAre::constant;
            Trial trial(engine, device, named.layer, flush, weights);
            progress.step("measuring");
            const std::vector<double> times = trial.time(kernel, options.repeats);
            result.info = kernel.info();
            result.weights = weights_text(result.info, weights);
            result.ms = median(times);
            result.spread = spread(times);
            result.speed_of_light_ms =
                speed_of_light_ms(named.layer, trial.shape(), environment.copy_tb_per_s * 1e12, rates);
            progress.step("comparing with the definition");
            result.errors = trial.judge();
            if (result.errors.wrong_nonfinite != 0 || !(result.errors.rel_l2 <= tolerance(named.layer)))
                result.failure =
                    fmt::format("wrong: relative L2 error {:.2e}, allowed {:.1e}, {} wrongly non-finite",
                                result.errors.rel_l2, tolerance(named.layer), result.errors.wrong_nonfinite);
        } catch (const std::bad_alloc&) {
            result.failure = no_host_memory(named.layer, known_shape(named.layer));
        } catch (const std::length_error&) {  // more than a vector can ever hold
            result.failure = no_host_memory(named.layer, known_shape(named.layer));
        } catch (const std::exception& error) {
            result.failure = error.what();
        }
        results.push_back(std::move(result));
        // After each layer: a run that is cut short keeps what it has.
        if (!options.json.empty()) write_results(options.json, environment, results);
    }
    options.report.write(to_json(environment, results));
    progress.done();
    print_results(environment, results);
    finish_output();
    return std::all_of(results.begin(), results.end(), [](const Result& r) { return r.failure.empty(); }) ? 0 : 1;
}

// As a shell reads it back.
std::string quoted(const std::string& word) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
    return fmt::format("{}'", text);
}

}  // namespace

std::string command_line(const BenchOptions& options) {
    std::string line = "convt bench";
    for (const std::string& text : options.layers.strings) line += fmt::format(" {}", quoted(text));
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) line += fmt::format(" {} {}", name, quoted(value));
    };
    add("--layers", options.layers.file);
    add("--filter", options.filter);
    add("--dtype", options.dtype);
    add("--repeats", std::to_string(options.repeats));
    add("--plan", options.plan.text);
    if (options.pack_each_time) line += " --pack-each-time";
    return line;
}

void add_bench(CLI::App& app, int& status) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App* const command = app.add_subcommand("bench", "Measure layers on the GPU against the speed of light");
    options->layers.add_to(*command);
    command->add_option("--json", options->json, "write the results there, too")->type_name("FILE")->check(not_empty());
    command->add_option("--filter", options->filter, "only layers whose name or string contains this")
        ->check(not_empty());
    command->add_option("--dtype", options->dtype, "measure all layers in this instead of their own")
        ->check(not_empty())
        ->check(CLI::IsMember({"f32", "tf32", "f16", "bf16"}));
    command->add_option("--repeats", options->repeats, "launches of which the median is taken")
        ->transform(whole_number(3, 1'000'000))
        ->capture_default_str();
    options->plan.add_to(*command);
    options->report.add_to(*command, "--html");
    command->add_flag("--pack-each-time", options->pack_each_time,
                      "as in training: kernels that pack their weights do so at each launch, not once before");
    command->callback([options, &status] { status = bench(*options); });
}

}  // namespace convt_jit::tools
