#include "subject/notices.h"

#include "convt_jit/engine.h"
#include "subject/message.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace convt_jit::tools {
namespace {

// Those of other processes have passed no filter of this one.
bool wants_warnings() {
    const char* level = std::getenv("CONVT_JIT_LOG");
    const std::string_view name = level != nullptr ? level : "";
    return name != "off" && name != "error";
}

}  // namespace

Notices::Notices() : wanted_(wants_warnings()) {
    set_log_sink([this](LogLevel severity, std::string_view line) {
        if (severity == LogLevel::warning)
            tell(line);
        else
            complain(line);
    });
}

Notices::~Notices() { set_log_sink({}); }

void Notices::tell(std::string_view warning) {
    if (!wanted_) return;
    const std::scoped_lock lock(mutex_);
    if (!told_.emplace(warning).second) return;
    // A line that is rewritten there may show how far the work is.
    if (isatty(STDERR_FILENO) != 0) tell_raw("\r\033[K");
    complain(fmt::format("warning: {}", warning));
}

}  // namespace convt_jit::tools
