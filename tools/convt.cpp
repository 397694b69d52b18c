// convt: the library on the command line. Exit code 0: all is right; 1: something is wrong or failed; 2: bad usage.

#include "autotune/autotune.h"
#include "bench/bench.h"
#include "cache/cache.h"
#include "convt_jit/convt_jit.h"
#include "run/run.h"
#include "subject/usage_error.h"
#include "warmup/warmup.h"
#include "warmup/worker.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>

namespace {

constexpr int kFailed = 1, kBadUsage = 2;

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Transposed convolutions, compiled for one layer at a time");
    app.require_subcommand(1);
    app.set_version_flag("--version", [] {
        std::string why;
        const std::string nvrtc = convt_jit::nvrtc_version(&why);
        return fmt::format("convt {} (NVRTC {})", convt_jit::version(), nvrtc.empty() ? "not found: " + why : nvrtc);
    });
    int status = 0;
    convt_jit::tools::add_run(app, status);
    convt_jit::tools::add_bench(app, status);
    convt_jit::tools::add_autotune(app, status);
    convt_jit::tools::add_cache(app, status);
    convt_jit::tools::add_warmup(app, status);
    convt_jit::tools::add_worker(app, status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : kBadUsage;
    } catch (const convt_jit::tools::UsageError& error) {
        fmt::print(stderr, "convt: {}\n", error.what());
        return kBadUsage;
    } catch (const convt_jit::LayerError& error) {
        fmt::print(stderr, "convt: {}\n", error.what());
        return kBadUsage;
    } catch (const std::exception& error) {
        fmt::print(stderr, "convt: {}\n", error.what());
        return kFailed;
    }
    return status;
}
