#include "subject/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace convt_jit::tools {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);
constexpr auto kRefresh = std::chrono::milliseconds(500);

}  // namespace

Progress::Progress()
    : terminal_(isatty(STDERR_FILENO) != 0), watcher_([this](const std::stop_token& stop) { watch(stop); }) {}

Progress::~Progress() { done(); }

void Progress::about(std::string subject) {
    const std::scoped_lock lock(mutex_);
    subject_ = std::move(subject);
}

void Progress::step(std::string text) {
    const std::scoped_lock lock(mutex_);
    wipe();
    text_ = text.empty() ? text : subject_ + text;
    begin_ = Clock::now();
    next_ = begin_ + kPatience;
    changed_.notify_one();
}

void Progress::revise(std::string text) {
    const std::scoped_lock lock(mutex_);
    text_ = subject_ + text;
}

void Progress::done() { step({}); }

void Progress::watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        if (text_.empty()) {
            changed_.wait(lock, stop, [&] { return !text_.empty(); });
            continue;
        }
        // A new step moves next_, so it ends the wait.
        const Clock::time_point due = next_;
        if (changed_.wait_until(lock, stop, due, [&] { return text_.empty() || next_ != due; })) continue;
        if (!stop.stop_requested()) tell(Clock::now() - begin_);
    }
}

void Progress::tell(Clock::duration elapsed) {
    const auto seconds = static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(elapsed).count());
    std::fprintf(stderr, terminal_ ? "\r\033[K%s, %lld s" : "%s, %lld s\n", text_.c_str(), seconds);
    std::fflush(stderr);
    visible_ = terminal_;
    next_ = terminal_ ? Clock::now() + kRefresh : begin_ + 2 * elapsed;
}

void Progress::wipe() {
    if (!visible_) return;
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
    visible_ = false;
}

}  // namespace convt_jit::tools
