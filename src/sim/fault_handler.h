// FaultHandler: turns a processor fault inside a fibre into a call, for as long as it lives.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <memory>

namespace convt_jit::sim {

class FaultHandler {
public:
    // Called on the thread that faulted, on a stack of its own. It does not return where the fault is its business;
    // where it returns, the fault goes to whoever handled it before.
    using Function = void (*)(int signal, int code, const void* address);

    explicit FaultHandler(Function function);
    ~FaultHandler();
    FaultHandler(const FaultHandler&) = delete;
    FaultHandler& operator=(const FaultHandler&) = delete;

private:
    static constexpr std::array<int, 4> kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    static constexpr std::size_t kStackBytes = 64 * 1024;

    static void handle(int signal, siginfo_t* info, void* context);

    static Function function_;
    static std::array<struct sigaction, kSignals.size()> previous_;

    std::unique_ptr<char[]> stack_;
    stack_t previous_stack_{};
};

}  // namespace convt_jit::sim
