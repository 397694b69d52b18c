// convt: the library on the command line. Exit code 0: all is right; 1: something is wrong or failed; 2: bad usage.

#include "autotune/autotune.h"
#include "autotune/worker.h"
#include "bench/bench.h"
#include "cache/cache.h"
#include "convt_jit/convt_jit.h"
#include "run/run.h"
#include "subject/message.h"
#include "subject/usage_error.h"
#include "warmup/warmup.h"
#include "warmup/worker.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <sstream>
#include <system_error>

namespace {

using convt_jit::tools::complain;
using convt_jit::tools::shown_in_line;

constexpr int kFailed = 1, kBadUsage = 2;

// The parser misses a subcommand before it wonders about a word that is none. Empty where all words are known.
std::string unknown_word(const CLI::App& app) {
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().back();
    const std::vector<std::string> words = command->remaining();
    std::vector<std::string> names;
    for (const CLI::App* known : command->get_subcommands({}))
        if (!known->get_group().empty()) names.push_back(known->get_name());  // the others are not for people
    if (words.empty() || names.empty()) return {};
    return fmt::format("\"{}\" is no subcommand; there are: {}", words.front(), fmt::join(names, ", "));
}

// What the parser has to say: help, the version or an error.
int tell(const CLI::App& app, const CLI::ParseError& error) {
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
        if (const std::string unknown = unknown_word(app); !unknown.empty()) {
            complain(shown_in_line(unknown));
            return kBadUsage;
        }
    }
    std::ostringstream out, err;
    if (app.exit(error, out, err) != 0) {
        complain(shown_in_line(error.what()) + "\nRun with --help for more information.");
        return kBadUsage;
    }
    std::fputs(out.str().c_str(), stdout);
    convt_jit::tools::finish_output();
    return 0;
}

int run(CLI::App& app, int argc, char** argv, const int& status) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return tell(app, error);
    }
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    convt_jit::tools::hold_standard_streams();
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
    convt_jit::tools::add_tune_worker(app, status);
    convt_jit::tools::add_cache(app, status);
    convt_jit::tools::add_warmup(app, status);
    convt_jit::tools::add_worker(app, status);
    try {
        return run(app, argc, argv, status);
        // What these say is a line, and what is in it of a user's text shall not break it.
    } catch (const convt_jit::tools::UsageError& error) {
        complain(shown_in_line(error.what()));
        return kBadUsage;
    } catch (const convt_jit::LayerError& error) {
        complain(shown_in_line(error.what()));
        return kBadUsage;
    } catch (const convt_jit::CacheError& error) {
        complain(shown_in_line(error.what()));
        return kFailed;
    } catch (const std::system_error& error) {
        // Whoever prints does not know where to.
        if (std::ferror(stdout) != 0)
            complain("standard output cannot be written to: " + error.code().message());
        else
            complain(shown_in_line(error.what()));
        return kFailed;
    } catch (const std::exception& error) {
        complain(error.what());
        return kFailed;
    }
}
