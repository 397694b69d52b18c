// compile_ahead ARCH: fills the cache directory with the kernels of all cases, so that a run of the conformance tests
// on a machine of that arch spends its time on running them. Needs no GPU.

#include "conformance/cases.h"
#include "conformance/parallel.h"

#include <atomic>
#include <cstdio>
#include <mutex>

int main(int argc, char** argv) {
    using namespace convt_jit;
    if (argc != 2) {
        std::fprintf(stderr, "usage: compile_ahead ARCH\n");
        return 2;
    }
    try {
        const std::vector<test::Case> cases = test::all_cases();
        Engine engine;
        std::mutex mutex;
        std::atomic<std::size_t> done{0}, compiled{0}, failed{0};
        test::parallel(cases.size(), static_cast<int>(std::thread::hardware_concurrency()), [&](std::size_t i) {
            try {
                compiled += engine.compile(cases[i].layer, argv[1]).origin == Origin::compiler;
            } catch (const std::exception& error) {
                ++failed;
                const std::scoped_lock lock(mutex);
                std::fprintf(stderr, "\n%s: %s\n", test::name_of(cases[i]).c_str(), error.what());
            }
            if (++done % 50 == 0) std::fprintf(stderr, "\r%zu of %zu", done.load(), cases.size());
        });
        std::fprintf(stderr, "\n%zu cases, %zu kernels compiled, %zu failed\n", cases.size(), compiled.load(),
                     failed.load());
        return failed == 0 ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
