#include "engine/background.h"

#include <algorithm>
#include <utility>

namespace convt_jit {
namespace {

// The application has work of its own for the other cores.
std::size_t most_threads() { return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, 1, 8); }

}  // namespace

Background::~Background() {
    std::deque<Task> left;
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
        left.swap(queue_);
    }
    wake_.notify_all();
    for (const Task& task : left) task.abandon();
    for (std::thread& thread : threads_) thread.join();
}

void Background::submit(Task task) {
    const std::scoped_lock lock(mutex_);
    queue_.push_back(std::move(task));
    if (queue_.size() > idle_ && threads_.size() < most_threads()) try {
            threads_.emplace_back([this] { work(); });
        } catch (...) {
            if (!threads_.empty()) return;  // those that there are will come to it
            queue_.pop_back();
            throw;
        }
    wake_.notify_one();
}

void Background::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        wake_.wait(lock, [&] { return ending_ || !queue_.empty(); });
        --idle_;
        if (ending_) return;
        const Task task = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        task.run();
        lock.lock();
    }
}

}  // namespace convt_jit
