// Background: work that nobody waits for, on threads that end with their owner.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace convt_jit {

class Background {
public:
    struct Task {
        std::function<void()> run;      // throws nothing
        std::function<void()> abandon;  // instead, where it is not run any more; throws nothing
    };

    Background() = default;
    // Abandons what has not begun, and waits for what has: a compiler cannot be interrupted.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    // Threads are started as tasks come. Thread-safe.
    void submit(Task task);

private:
    void work();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Task> queue_;
    std::vector<std::thread> threads_;
    std::size_t idle_ = 0;
    bool ending_ = false;
};

}  // namespace convt_jit
