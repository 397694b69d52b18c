#include "reference/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace convt_jit {

int hardware_threads() noexcept { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& work) {
    std::atomic<std::int64_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto run = [&] {
        try {
            for (std::int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
        } catch (...) {
            next.store(count);
            const std::scoped_lock lock(mutex);
            failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> others;
        try {
            for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, count); ++i) others.emplace_back(run);
        } catch (const std::system_error&) {
            // The system gives no more threads: those that there are do all the work.
        }
        run();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace convt_jit
