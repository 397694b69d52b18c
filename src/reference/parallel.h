// Parallel: a loop over independent pieces of work, shared among threads.
#pragma once

#include <cstdint>
#include <functional>

namespace convt_jit {

[[nodiscard]] int hardware_threads() noexcept;

// Calls work(i) once for every i in [0, count), in any order, on up to `threads` threads. Where one throws, no further
// work is begun and the exception is thrown again here.
void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work);

}  // namespace convt_jit
