// Bar: how far the work is, on stderr: a line that is rewritten on a terminal, else plain lines, ever more rarely.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace convt_jit::tools {

struct Advance {
    std::size_t total = 0, compiled = 0, hits = 0, failed = 0;
    int jobs = 0;
    double seconds = 0;  // since the beginning
    bool stopping = false;

    [[nodiscard]] std::size_t finished() const noexcept { return compiled + hits + failed; }
};

// Seconds until all is done, unset where nobody knows. What was found in the cache took no time and says nothing about
// what is left, so it is left out of the pace; what is left counts as if nothing of it were found.
[[nodiscard]] std::optional<double> seconds_left(const Advance& advance) noexcept;
// "[#####-----] 5/10 kernels: 3 compiled, 2 found, 0 failed; 4 jobs; 12 s left"; without the bar where width is 0.
[[nodiscard]] std::string to_text(const Advance& advance, int width);

class Bar {
public:
    explicit Bar(const char* what);
    ~Bar() { wipe(); }
    Bar(const Bar&) = delete;
    Bar& operator=(const Bar&) = delete;

    // Says it where it is time to say something.
    void show(Advance advance);
    void wipe();
    [[nodiscard]] double seconds() const;

private:
    using Clock = std::chrono::steady_clock;

    const char* what_;
    const bool terminal_;
    const Clock::time_point begin_;
    Clock::time_point next_;
    bool visible_ = false;
};

}  // namespace convt_jit::tools
