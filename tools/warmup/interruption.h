// Interruption: SIGINT and SIGTERM as something that is looked at, not something that happens.
#pragma once

#include <csignal>

namespace convt_jit::tools {

// While it lives the two signals are blocked in the calling thread and in all threads and processes that it starts: a
// Ctrl-C goes to every process of the terminal, and those that compile shall finish.
class Interruption {
public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    // Becomes readable with a signal, to wait for.
    [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
    // How often it has been asked to stop so far.
    [[nodiscard]] int count();
    // 130 or 143, as a shell reports a program that died of the first one.
    [[nodiscard]] int exit_code() const noexcept { return 128 + signal_; }

private:
    sigset_t before_{};
    int descriptor_ = -1, count_ = 0, signal_ = 0;
};

}  // namespace convt_jit::tools
