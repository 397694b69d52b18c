#include "log/log.h"

#include "log/printable.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>

namespace convt_jit {
namespace {

constexpr LogLevel kDefault = LogLevel::warning;  // what is lost or slow without anybody failing

std::string_view variable() {
    const char* text = std::getenv("CONVT_JIT_LOG");
    return text != nullptr ? text : "";
}

// Nothing where it is no level.
std::optional<LogLevel> parse_level(std::string_view name) {
    if (name.empty()) return kDefault;
    if (name == "debug") return LogLevel::debug;
    if (name == "info") return LogLevel::info;
    if (name == "warning" || name == "warn") return LogLevel::warning;
    if (name == "error") return LogLevel::error;
    if (name == "off") return LogLevel::off;
    return std::nullopt;
}

std::atomic<LogLevel>& current_level() {
    static std::atomic<LogLevel> level{parse_level(variable()).value_or(kDefault)};
    return level;
}

struct Output {
    std::mutex mutex;
    LogSink sink;
    std::shared_ptr<spdlog::logger> stderr_logger =
        std::make_shared<spdlog::logger>("convt_jit", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());

    Output() {
        stderr_logger->set_level(spdlog::level::trace);  // filtering is done before a line is formatted
        stderr_logger->set_pattern("%Y-%m-%d %H:%M:%S.%e [convt_jit] [%^%l%$] %v");
    }
};

Output& output() {
    static auto* const instance = new Output;  // never destroyed: threads may log while the process ends
    return *instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return spdlog::level::debug;
        case LogLevel::info:
            return spdlog::level::info;
        case LogLevel::warning:
            return spdlog::level::warn;
        case LogLevel::error:
            return spdlog::level::err;
        case LogLevel::off:
            break;
    }
    return spdlog::level::off;
}

}  // namespace

void set_log_sink(LogSink sink) {
    const std::scoped_lock lock(output().mutex);
    output().sink = std::move(sink);
}

void set_log_level(LogLevel level) { current_level().store(level, std::memory_order_relaxed); }

namespace log {

void check_setting() {
    static std::atomic_flag checked;
    if (!enabled(LogLevel::warning) || checked.test_and_set() || parse_level(variable())) return;
    warning("CONVT_JIT_LOG is \"{}\"; allowed: debug, info, warning, error, off; warning is taken",
            printable(variable()));
}

bool enabled(LogLevel level) noexcept {
    return level != LogLevel::off && level >= current_level().load(std::memory_order_relaxed);
}

void write(LogLevel level, const std::string& line) {
    const std::scoped_lock lock(output().mutex);
    if (output().sink)
        output().sink(level, line);
    else
        output().stderr_logger->log(spdlog_level(level), "{}", line);
}

void warning_once(const std::string& line) {
    static std::mutex mutex;
    static auto* const told = new std::set<std::string>;  // never destroyed: threads may log while the process ends
    if (!enabled(LogLevel::warning)) return;
    const bool first = [&] {
        const std::scoped_lock lock(mutex);
        return told->insert(line).second;
    }();
    if (first) write(LogLevel::warning, line);
}

}  // namespace log
}  // namespace convt_jit
