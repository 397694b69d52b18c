#include "sim/fault_handler.h"

#include <pthread.h>
#include <ucontext.h>

namespace convt_jit::sim {

FaultHandler::Function FaultHandler::function_ = nullptr;
std::array<struct sigaction, FaultHandler::kSignals.size()> FaultHandler::previous_{};

FaultHandler::FaultHandler(Function function) : stack_(new char[kStackBytes]) {
    function_ = function;
    stack_t stack{};
    stack.ss_sp = stack_.get();
    stack.ss_size = kStackBytes;
    sigaltstack(&stack, &previous_stack_);
    struct sigaction action {};
    action.sa_sigaction = &FaultHandler::handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &previous_[i]);
}

FaultHandler::~FaultHandler() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous_[i], nullptr);
    sigaltstack(&previous_stack_, nullptr);
}

void FaultHandler::handle(int signal, siginfo_t* info, void* context) {
    // The function leaves by switching stacks, so the signal has to be let through again before, not after.
    pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
    function_(signal, info->si_code, info->si_addr);
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        if (kSignals[i] != signal) continue;
        // The instruction is tried again and faults again, with the handler of before.
        sigaction(signal, &previous_[i], nullptr);
    }
}

}  // namespace convt_jit::sim
