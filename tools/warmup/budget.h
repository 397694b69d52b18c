// Budget: how many compilers may run at the same time. Pure functions.
#pragma once

#include "warmup/machine.h"

#include <cstddef>
#include <cstdint>

namespace convt_jit::tools {

// The most that the kernels of today were measured to take (bench/results/cpu-warmup.json), rounded up. The first ones
// may be small ones, so that what they tell is no reason to believe in less.
constexpr std::uint64_t kMeasuredPeak = std::uint64_t{160} << 20;

// What to reckon with for each job, given the highest peak of any so far (0: none has told): half as much again as the
// higher of the two, as the next kernel may be larger.
[[nodiscard]] std::uint64_t job_bytes(std::uint64_t highest_peak) noexcept;

// At least one: with less memory than one job is believed to take, it is tried all the same. `machine` is as it was
// before the first job. `most` is what was asked for; 0: as many as there are processors.
[[nodiscard]] int jobs_allowed(const Machine& machine, int most, std::uint64_t highest_peak) noexcept;

// What to do with a kernel whose compiler died while it worked on it.
struct AfterLoss {
    bool again = false;       // try it once more
    bool fewer_jobs = false;  // and run one less from now on
};
// `losses`: how often it was lost, with this one; `signal`: what ended the compiler, 0 where it ended by itself.
[[nodiscard]] AfterLoss after_loss(int losses, int signal) noexcept;

}  // namespace convt_jit::tools
