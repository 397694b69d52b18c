// Compilers: processes that compile candidates into the cache while others are measured.
#pragma once

#include "autotune/request.h"
#include "subject/crew.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace convt_jit::tools {

class Compilers {
public:
    struct Result {
        bool compiled = false;
        std::string why;  // not
    };

    Compilers(std::vector<std::string> worker_arguments, std::string layer, std::string arch, std::size_t jobs,
              std::chrono::seconds patience);
    ~Compilers();
    Compilers(const Compilers&) = delete;
    Compilers& operator=(const Compilers&) = delete;

    // What is to be compiled next, in this order; replaces what was wanted before and has not begun.
    void want(std::vector<std::pair<std::size_t, std::string>> plans);
    // The first of those that is done; waits for one, but not longer than until then.
    [[nodiscard]] std::optional<std::pair<std::size_t, Result>> take(const std::vector<std::size_t>& any_of,
                                                                     std::chrono::steady_clock::time_point until);

private:
    void run();
    void hand_out(Crew& crew);
    void note(std::size_t candidate, Result result);

    const std::string layer_, arch_;
    const std::size_t jobs_;
    const std::chrono::seconds patience_;
    std::mutex mutex_;
    std::condition_variable change_;
    std::deque<std::pair<std::size_t, std::string>> wanted_;
    struct Begun {
        std::string plan;
        std::chrono::steady_clock::time_point since;
    };
    std::map<std::size_t, Begun> begun_;
    std::map<std::size_t, Result> done_;
    bool over_ = false;
    int wake_[2] = {-1, -1};  // a pipe: something is wanted, or it is over
    std::vector<std::string> arguments_;
    std::thread thread_;  // last, so that all else is there while it runs
};

}  // namespace convt_jit::tools
