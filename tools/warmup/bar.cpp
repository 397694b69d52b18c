#include "warmup/bar.h"

#include "subject/message.h"
#include "subject/quantity.h"

#include <fmt/format.h>
#include <unistd.h>

namespace convt_jit::tools {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);
constexpr auto kRefresh = std::chrono::milliseconds(250);
constexpr int kWidth = 24;

}  // namespace

std::optional<double> seconds_left(const Advance& a) noexcept {
    const std::size_t worked = a.compiled + a.failed;
    if (a.finished() >= a.total) return 0;
    if (worked == 0 || a.seconds <= 0) return std::nullopt;
    return a.seconds / static_cast<double>(worked) * static_cast<double>(a.total - a.finished());
}

std::string to_text(const Advance& a, int width) {
    std::string text;
    if (width > 0) {
        const auto cells = static_cast<std::size_t>(width);
        const std::size_t full = a.total == 0 ? cells : cells * a.finished() / a.total;
        text = format_bar(full, cells) + " ";
    }
    text += fmt::format("{}/{} kernels: {} compiled, {} found, {} failed; {} job{}", a.finished(), a.total, a.compiled,
                        a.hits, a.failed, a.jobs, a.jobs == 1 ? "" : "s");
    if (a.stopping)
        text += "; stopping, what runs is finished";
    else if (const auto left = seconds_left(a))
        text += fmt::format("; {} left", format_duration(*left));
    return text;
}

Bar::Bar(const char* what)
    : what_(what), terminal_(isatty(STDERR_FILENO) != 0), begin_(Clock::now()), next_(begin_ + kPatience) {}

double Bar::seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

void Bar::show(Advance advance) {
    const auto now = Clock::now();
    if (now < next_) return;
    advance.seconds = seconds();
    tell_raw(fmt::format("{}{} {}{}", terminal_ ? "\r\033[K" : "", what_, to_text(advance, terminal_ ? kWidth : 0),
                         terminal_ ? "" : "\n"));
    visible_ = terminal_;
    next_ = terminal_ ? now + kRefresh : begin_ + 2 * (now - begin_);
}

void Bar::wipe() {
    if (!visible_) return;
    tell_raw("\r\033[K");
    visible_ = false;
}

}  // namespace convt_jit::tools
