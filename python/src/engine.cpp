// Engines, devices, and what the library can say about this machine.
#include "bindings.h"

#include <convt_jit/convt_jit.h>
#include <convt_jit/tuning.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

namespace nb = nanobind;

namespace convt_jit::python {
namespace {

constexpr int kSimulator = -1;

Device device_of(int device) { return device == kSimulator ? Device::simulator() : Device::cuda(device); }

PrepareOptions options_of(const std::string& plan) {
    PrepareOptions options;
    options.plan = plan;
    return options;
}

Kernel prepare(Engine& engine, const Layer& layer, int device, const std::string& plan) {
    PrepareOptions options = options_of(plan);
    options.device = device_of(device);
    return engine.prepare(layer, options);
}

std::pair<std::string, std::string> compile(Engine& engine, const Layer& layer, const std::string& arch,
                                            const std::string& plan) {
    const KernelInfo info = engine.compile(layer, arch, options_of(plan));
    return {info.plan, to_string(info.origin)};
}

}  // namespace

void bind_engine(nb::module_& module) {
    // Compilers take their time: other threads go on meanwhile.
    using Release = nb::call_guard<nb::gil_scoped_release>;

    nb::class_<Engine>(module, "Engine", "From a layer to a kernel; thread-safe.")
        .def(
            "__init__",
            [](Engine* self, const std::optional<std::string>& cache_dir) {
                EngineOptions options;
                options.cache_dir = cache_dir;
                new (self) Engine(options);
            },
            nb::arg("cache_dir") = nb::none())
        .def("prepare", &prepare, Release(), nb::arg("layer"), nb::arg("device"), nb::arg("plan") = "",
             "A kernel for a CUDA device's ordinal, or SIMULATOR. Waits for the compiler.")
        .def("compile", &compile, Release(), nb::arg("layer"), nb::arg("arch"), nb::arg("plan") = "",
             "Compiles into the disk cache without a device; (plan, origin).");

    module.attr("SIMULATOR") = kSimulator;
    module.def("version", &version);
    module.def(
        "cuda_count",
        [] {
            std::string why;
            const int count = Device::cuda_count(&why);
            return std::make_pair(count, why);
        },
        "Number of CUDA devices, and why there is none.");
    module.def(
        "nvrtc_version",
        [] {
            std::string why;
            const std::string version = nvrtc_version(&why);
            return std::make_pair(version, why);
        },
        "Version of the NVRTC that would compile, and why there is none.");
    module.def(
        "plans",
        [](const Layer& layer, const std::string& arch) { return TuningRecords::standard().plans(layer, arch); },
        Release(), "Plans that prepare may take for the layer on GPUs of an arch.");
}

}  // namespace convt_jit::python
