// What a launch costs the CPU above a bare cuLaunchKernel with a parameter of the same size.

#include "gpu/cuda_driver.h"
#include "micro/micro.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace convt_jit::bench {
namespace {

using benchmark::State;
using test::must;

constexpr int kBurst = 500;  // launches without waiting; the driver queues about a thousand
constexpr std::size_t kArgumentBytes = 112;

constexpr const char* kEmptyKernel = R"(.version 6.4
.target sm_75
.address_size 64
.visible .entry empty(.param .align 8 .b8 arguments[112]) { ret; }
)";

// A tiny layer and an empty kernel on one stream of the device's primary context.
class Launches {
public:
    Launches()
        : device_(Device::cuda(0)),
          layer_(parse_layer("n1 c4 o4 in8x8 k4x4 s2 p1")),
          shape_(known_shape(layer_)),
          driver_(test::CudaDriver::instance()),
          stream_(device_),
          x_(device_, bytes(sizes(layer_, shape_).x)),
          w_(device_, bytes(sizes(layer_, shape_).w)),
          y_(device_, bytes(sizes(layer_, shape_).y)) {
        CUcontext context = nullptr;
        must(driver_.primary_retain(&context, 0), "cuDevicePrimaryCtxRetain");
        must(driver_.ctx_set_current(context), "cuCtxSetCurrent");
        must(driver_.module_load_data(&module_, kEmptyKernel), "cuModuleLoadData");
        must(driver_.module_get_function(&empty_, module_, "empty"), "cuModuleGetFunction");
        PrepareOptions options;
        options.device = device_;
        kernel_ = engine_.prepare(layer_, options);
        x_.fill(0);
        w_.fill(0);
        tensors_.x = x_.data();
        tensors_.w = w_.data();
        tensors_.y = y_.data();
    }
    ~Launches() { driver_.module_unload(module_); }
    Launches(const Launches&) = delete;
    Launches& operator=(const Launches&) = delete;

    void ours() const { kernel_.launch(tensors_, shape_, stream_.handle()); }
    void bare() {
        void* parameters[] = {arguments_.data()};
        must(driver_.launch_kernel(empty_, 1, 1, 1, static_cast<unsigned>(kernel_.info().threads), 1, 1, 0,
                                   static_cast<CUstream>(stream_.handle()), parameters, nullptr),
             "cuLaunchKernel");
    }
    // Seconds that one launch of a burst keeps the CPU.
    template <class Launch>
    double burst(const Launch& launch) {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < kBurst; ++i) launch();
        const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        stream_.synchronize();
        return taken / kBurst;
    }

private:
    [[nodiscard]] static std::size_t bytes(std::int64_t elements) {
        return static_cast<std::size_t>(elements) * sizeof(float);
    }

    Device device_;
    Layer layer_;
    Shape shape_;
    const test::CudaDriver& driver_;
    Stream stream_;
    Buffer x_, w_, y_;
    Engine engine_{[] {
        EngineOptions options;
        options.cache_dir = "";
        return options;
    }()};
    Kernel kernel_;
    Tensors tensors_;
    CUmodule module_ = nullptr;
    CUfunction empty_ = nullptr;
    alignas(8) std::array<unsigned char, kArgumentBytes> arguments_{};
};

enum class What { ours, bare, above_bare };

void launch(State& state, What what) {
    std::string why;
    if (Device::cuda_count(&why) == 0) {
        state.SkipWithError(("needs a CUDA device: " + why).c_str());
        return;
    }
    Launches launches;
    const auto ours = [&] { return launches.burst([&] { launches.ours(); }); };
    const auto bare = [&] { return launches.burst([&] { launches.bare(); }); };
    ours(), bare();
    for ([[maybe_unused]] const auto& _ : state) {
        // Both in turn, so that a change of clocks meets both.
        const double seconds = what == What::ours ? ours() : what == What::bare ? bare() : ours() - bare();
        state.SetIterationTime(std::max(0.0, seconds));
    }
}

}  // namespace

void register_launch() {
    for (const auto& [name, what] :
         {std::pair{"launch/ours", What::ours}, {"launch/bare", What::bare}, {"launch/above_bare", What::above_bare}}) {
        benchmark::RegisterBenchmark(name, launch, what)
            ->Iterations(100)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
    }
}

}  // namespace convt_jit::bench
