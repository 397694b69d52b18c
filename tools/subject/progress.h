// Progress: says what is going on, on stderr, once it has taken two seconds. A line that is rewritten on a terminal,
// plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace convt_jit::tools {

class Progress {
public:
    explicit Progress(std::size_t total) : total_(total) {}
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    // One more of `total` begins.
    void step(const std::string& what);
    // Takes the line off the terminal, so that something else can be printed.
    void clear();

private:
    std::size_t total_, done_ = 0;
    bool shown_ = false;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point last_ = start_;
};

}  // namespace convt_jit::tools
