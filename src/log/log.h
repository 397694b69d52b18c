// Log: fmt-style log lines for the whole library, over spdlog. Silent by default.
#pragma once

#include "convt_jit/engine.h"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace convt_jit::log {

// Warns, once, where $CONVT_JIT_LOG names no level.
void check_setting();

[[nodiscard]] bool enabled(LogLevel level) noexcept;
void write(LogLevel level, const std::string& line);
// A warning that a process gives once, however often there is reason to.
void warning_once(const std::string& line);

template <class... Args>
void line(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(level)) write(level, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
    line(LogLevel::debug, format, std::forward<Args>(args)...);
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    line(LogLevel::info, format, std::forward<Args>(args)...);
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
    line(LogLevel::warning, format, std::forward<Args>(args)...);
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
    line(LogLevel::error, format, std::forward<Args>(args)...);
}

}  // namespace convt_jit::log
