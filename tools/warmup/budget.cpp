#include "warmup/budget.h"

#include <algorithm>
#include <csignal>

namespace convt_jit::tools {

std::uint64_t job_bytes(std::uint64_t highest_peak) noexcept {
    const std::uint64_t peak = std::max(highest_peak, kMeasuredPeak);
    return peak + peak / 2;
}

int jobs_allowed(const Machine& machine, int most, std::uint64_t highest_peak) noexcept {
    const int wanted = most > 0 ? most : machine.processors;
    // A tenth is left to everybody else.
    const std::uint64_t fitting = (machine.free_bytes - machine.free_bytes / 10) / job_bytes(highest_peak);
    return static_cast<int>(std::clamp<std::uint64_t>(fitting, 1, static_cast<std::uint64_t>(std::max(wanted, 1))));
}

AfterLoss after_loss(int losses, int signal) noexcept {
    // SIGKILL is what the kernel sends when memory is short. It hits whoever is largest, so the kernel at hand need not
    // be the cause and deserves another try with more room.
    return {losses < 2, signal == SIGKILL};
}

}  // namespace convt_jit::tools
