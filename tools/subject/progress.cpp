#include "subject/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace convt_jit::tools {
namespace {

const bool kTerminal = isatty(STDERR_FILENO) != 0;

}  // namespace

Progress::~Progress() { clear(); }

void Progress::clear() {
    if (shown_ && kTerminal) fmt::print(stderr, "\r\033[K");
    shown_ = false;
}

void Progress::step(const std::string& what) {
    const auto now = std::chrono::steady_clock::now();
    const auto patience = std::chrono::seconds(2);
    ++done_;
    if (now - start_ < patience || (!kTerminal && now - last_ < patience)) return;
    last_ = now;
    clear();
    fmt::print(stderr, "[{}/{}] {}{}", done_, total_, what, kTerminal ? "" : "\n");
    std::fflush(stderr);
    shown_ = true;
}

}  // namespace convt_jit::tools
