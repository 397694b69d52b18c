#include "warmup/worker.h"

#include "subject/crew.h"
#include "subject/json_text.h"
#include "subject/message.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <utility>

namespace convt_jit::tools {
namespace {

using nlohmann::json;

constexpr const char* kCommand = "warmup-worker";

// The highest this process has been. Not ru_maxrss, which begins with what its parent had.
std::uint64_t peak_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        std::uint64_t kilobytes = 0;
        if (word == "VmHWM:" && status >> kilobytes) return kilobytes << 10;
    }
    return 0;
}

// The library's warnings, for the process that asks: it tells each once, whoever gave it. The last one tells, and
// nothing else does, why a cache does not keep what was compiled.
class Warnings {
public:
    Warnings() {
        const std::string level = std::getenv("CONVT_JIT_LOG") != nullptr ? std::getenv("CONVT_JIT_LOG") : "";
        if (level == "off" || level == "error") set_log_level(LogLevel::warning);
        set_log_sink([this](LogLevel severity, std::string_view line) {
            if (severity != LogLevel::warning) {
                complain(line);
                return;
            }
            const std::scoped_lock lock(mutex_);
            last_ = line;
            fresh_.emplace_back(line);
        });
    }
    ~Warnings() { set_log_sink({}); }
    Warnings(const Warnings&) = delete;
    Warnings& operator=(const Warnings&) = delete;

    [[nodiscard]] std::string last() {
        const std::scoped_lock lock(mutex_);
        return last_;
    }
    // Those that came since.
    [[nodiscard]] std::vector<std::string> take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(fresh_, {});
    }

private:
    std::mutex mutex_;
    std::string last_;
    std::vector<std::string> fresh_;
};

// Both signals are blocked here, so that what is being compiled is finished; they tell who only waits to stop.
EngineOptions waiting_until_stopped() {
    EngineOptions options;
    options.stop_waiting = [] {
        sigset_t pending;
        return ::sigpending(&pending) == 0 &&
               (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1);
    };
    return options;
}

class Worker {
public:
    explicit Worker(bool exact_nonfinite) { options_.exact_nonfinite = exact_nonfinite; }

    [[nodiscard]] json answer(const std::string& line) {
        json reply;
        try {
            const json request = json::parse(line);
            options_.plan = request.at("plan").get<std::string>();
            reply = compile(parse_layer(request.at("layer").get<std::string>()), request.at("arch").get<std::string>());
        } catch (const StoppedError&) {
            reply = {{"state", "left"}};
        } catch (const std::exception& error) {
            reply = {{"state", "failed"}, {"why", error.what()}};
        }
        reply["peak_bytes"] = peak_bytes();
        if (auto warnings = warnings_.take(); !warnings.empty()) reply["warnings"] = std::move(warnings);
        return reply;
    }

private:
    json compile(const Layer& layer, const std::string& arch) {
        const KernelInfo info = engine_.compile(layer, arch, options_);
        json reply = {{"state", info.origin == Origin::compiler ? "compiled" : "found"}, {"key", info.key}};
        if (info.origin != Origin::compiler) return reply;
        const CacheExplanation there = looked_up(layer, arch);
        if (there.hit && there.hit->key == info.key) return reply;
        const std::string why = warnings_.last();
        reply["state"] = "failed";
        reply["why"] =
            fmt::format("compiled, but {} did not keep it{}{}", Cache().directory(), why.empty() ? "" : ": ", why);
        // What is wrong with the place of this one alone does not concern the others.
        reply["in_vain"] = there.unused.empty();
        return reply;
    }

    // An engine does not fail over its cache, so what was compiled may be nowhere.
    [[nodiscard]] CacheExplanation looked_up(const Layer& layer, const std::string& arch) const {
        try {
            return Cache().explain(Engine::wanted(layer, arch, options_));
        } catch (const CacheError&) {
            return {};
        }
    }

    Warnings warnings_;
    Engine engine_{waiting_until_stopped()};
    PrepareOptions options_;
};

}  // namespace

std::string request_line(const Target& target) {
    return json_text(json{{"layer", to_string(target.named.layer)}, {"arch", target.arch}, {"plan", target.plan}}, -1) +
           "\n";
}

Reply parse_reply(const std::string& line) {
    Reply reply;
    try {
        const json parsed = json::parse(line);
        const auto state = parsed.at("state").get<std::string>();
        reply.result.state = state == "compiled" ? State::compiled
                             : state == "found"  ? State::found
                             : state == "left"   ? State::left
                                                 : State::failed;
        reply.result.key = parsed.value("key", "");
        reply.result.why = parsed.value("why", "");
        reply.peak_bytes = parsed.at("peak_bytes").get<std::uint64_t>();
        reply.in_vain = parsed.value("in_vain", false);
        reply.warnings = parsed.value("warnings", std::vector<std::string>());
    } catch (const json::exception&) {
        throw Error(fmt::format("the compiler's process said: {}", line));
    }
    return reply;
}

std::vector<std::string> worker_arguments(const PrepareOptions& options) {
    std::vector<std::string> arguments = {kCommand};
    if (options.exact_nonfinite) arguments.emplace_back("--exact-nonfinite");
    return arguments;
}

void add_worker(CLI::App& app, int& status) {
    auto exact_nonfinite = std::make_shared<bool>(false);
    CLI::App* const command = app.add_subcommand(kCommand, "")->group("");
    command->add_flag("--exact-nonfinite", *exact_nonfinite);
    command->callback([exact_nonfinite, &status] {
        Worker worker(*exact_nonfinite);
        // A parent that is gone is no reason to stop before an answer: what was compiled is kept.
        serve([&](const std::string& line) { return json_text(worker.answer(line), -1); });
        status = 0;
    });
}

}  // namespace convt_jit::tools
