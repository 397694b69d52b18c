// Parallel: the same work on many items by a few threads, and a limit on the memory that they hold together.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace convt_jit::test {

// Calls work(index) for each index below `count`, in ascending order, from that many threads. `work` must not throw.
template <class Work>
void parallel(std::size_t count, int threads, const Work& work) {
    std::atomic<std::size_t> next{0};
    const auto loop = [&] {
        for (std::size_t index; (index = next++) < count;) work(index);
    };
    std::vector<std::thread> others;
    const auto wanted = std::min<std::size_t>(count, static_cast<std::size_t>(std::max(1, threads)));
    for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(loop);
    loop();
    for (std::thread& thread : others) thread.join();
}

// Bytes that may be in use at a time. One holder is always let in, however much it wants.
class MemoryLimit {
public:
    explicit MemoryLimit(std::int64_t bytes) : limit_(bytes) {}

    class Hold {
    public:
        Hold(MemoryLimit& limit, std::int64_t bytes) : limit_(limit), bytes_(bytes) {
            std::unique_lock lock(limit_.mutex_);
            limit_.changed_.wait(lock, [&] { return limit_.used_ == 0 || limit_.used_ + bytes_ <= limit_.limit_; });
            limit_.used_ += bytes_;
        }
        ~Hold() {
            const std::scoped_lock lock(limit_.mutex_);
            limit_.used_ -= bytes_;
            limit_.changed_.notify_all();
        }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

    private:
        MemoryLimit& limit_;
        std::int64_t bytes_;
    };

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::int64_t limit_, used_ = 0;
};

}  // namespace convt_jit::test
