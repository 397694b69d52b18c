// How long it takes to get a kernel: rendered, compiled, or from the disk.

#include "micro/micro.h"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

namespace convt_jit::bench {
namespace {

using benchmark::State;
using Work = std::function<double(State&, const Layer&)>;  // seconds of one run

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

Engine engine_at(const std::string& directory) {
    EngineOptions options;
    options.cache_dir = directory;
    return Engine(options);
}

// Nothing is kept from one run to the next: a new engine, no disk.
double cold(State& state, const Layer& layer) {
    const auto start = std::chrono::steady_clock::now();
    const KernelInfo info = engine_at("").compile(layer, arch());
    const double taken = seconds_since(start);
    if (info.origin != Origin::compiler) state.SkipWithError("was not compiled");
    return taken;
}

double render(State&, const Layer& layer) {
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(Engine::render(layer, arch()));
    return seconds_since(start);
}

// A cache directory that goes when the program ends.
const std::string& scratch_cache() {
    struct Directory {
        std::string path = std::filesystem::temp_directory_path() / "convt_micro_XXXXXX";
        Directory() {
            if (!mkdtemp(path.data())) throw std::runtime_error("no temporary directory " + path);
        }
        ~Directory() {
            std::error_code ignored;
            std::filesystem::remove_all(path, ignored);
        }
    };
    static const Directory directory;
    return directory.path;
}

// From a new engine, as in a new process, to a loaded module.
double disk_hit(State& state, const Layer& layer) {
    const Device device = Device::best();
    if (!device.is_cuda()) {
        state.SkipWithError("needs a CUDA device");
        return 0;
    }
    PrepareOptions options;
    options.device = device;
    const auto start = std::chrono::steady_clock::now();
    Engine engine = engine_at(scratch_cache());
    const Kernel kernel = engine.prepare(layer, options);
    const double taken = seconds_since(start);
    if (kernel.info().origin == Origin::compiler) return disk_hit(state, layer);  // the first one fills the cache
    return taken;
}

// What the same prepare costs that has been there before: the kernel is loaded. On the simulator where there is no GPU,
// which makes no difference to it.
void again(State& state, const Layer& layer) {
    Engine engine = engine_at("");
    const Kernel first = engine.prepare(layer);
    for ([[maybe_unused]] const auto& _ : state) benchmark::DoNotOptimize(engine.prepare(layer));
}

// One benchmark per layer, and one that reports the median of their medians.
void register_over_layers(const std::string& name, const Work& work, int iterations) {
    const auto medians = std::make_shared<std::vector<double>>();
    for (const NamedLayer& item : layers()) {
        const auto run = [=, layer = item.layer](State& state) {
            std::vector<double> taken;
            for ([[maybe_unused]] const auto& _ : state) {
                taken.push_back(work(state, layer));
                state.SetIterationTime(taken.back());
            }
            if (!taken.empty() && taken.back() > 0) medians->push_back(median(taken));
        };
        benchmark::RegisterBenchmark((name + "/" + item.name).c_str(), run)
            ->Iterations(iterations)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
    }
    const auto summary = [=](State& state) {
        if (medians->empty()) state.SkipWithError("no layer was measured");
        for ([[maybe_unused]] const auto& _ : state) state.SetIterationTime(median(*medians));
        state.counters["layers"] = static_cast<double>(medians->size());
    };
    benchmark::RegisterBenchmark((name + "/median_of_layers").c_str(), summary)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
}

}  // namespace

void register_prepare() {
    register_over_layers("render", render, 20);
    register_over_layers("cold", cold, 3);
    register_over_layers("disk_hit", disk_hit, 20);
    for (const char* text : {"n1 c64 o32 in64x64 k4x4 s2 p1", "n8 c256 o128 in32x32 k3x3 s2 p1 op1 f16"})
        benchmark::RegisterBenchmark((std::string("again/") + text).c_str(), again, parse_layer(text))
            ->Unit(benchmark::kMicrosecond);
}

}  // namespace convt_jit::bench
