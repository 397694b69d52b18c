// Progress: tells on stderr what is being done once it takes more than two seconds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace convt_jit::tools {

// On a terminal one line that is rewritten and removed at the end of the step; elsewhere plain lines, ever more rarely.
class Progress {
public:
    Progress();
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // What the steps that follow are about; it stands before each of them.
    void about(std::string subject);
    // From now on `text` is being done.
    void step(std::string text);
    // The same is still being done, and this is what is known of it by now.
    void revise(std::string text);
    // Nothing is being done; what was written on a terminal is gone.
    void done();

private:
    using Clock = std::chrono::steady_clock;

    void watch(const std::stop_token& stop);
    void tell(Clock::duration elapsed);
    void wipe();

    const bool terminal_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::string subject_;
    std::string text_;  // empty: nothing is being done
    Clock::time_point begin_, next_;
    bool visible_ = false;
    std::jthread watcher_;  // last, so that all else is there while it runs
};

}  // namespace convt_jit::tools
