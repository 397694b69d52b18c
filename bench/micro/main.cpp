#include "micro/micro.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

namespace convt_jit::bench {

const std::vector<NamedLayer>& layers() {
    static const std::vector<NamedLayer> all = [] {
        const char* path = std::getenv("CONVT_BENCH_LAYERS");
        return read_layers_file(path ? path : CONVT_BENCH_LAYERS);
    }();
    return all;
}

std::string arch() {
    const char* wanted = std::getenv("CONVT_BENCH_ARCH");
    return wanted ? wanted : "sm_90";
}

}  // namespace convt_jit::bench

int main(int argc, char** argv) {
    namespace bench = convt_jit::bench;
    setenv("CUDA_CACHE_DISABLE", "1", 1);  // NVRTC keeps what it compiled: a cold compile would be one no more
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    try {
        benchmark::AddCustomContext("card", convt_jit::Device::best().name());
        benchmark::AddCustomContext("driver", convt_jit::Device::best().driver_version());
        benchmark::AddCustomContext("nvrtc", convt_jit::nvrtc_version());
        benchmark::AddCustomContext("arch", bench::arch());
        bench::register_prepare();
        bench::register_launch();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    const std::size_t ran = benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return ran > 0 ? 0 : 1;
}
