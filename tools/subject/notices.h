// Notices: the library's warnings on stderr, each once, however many processes give it.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace convt_jit::tools {

// While it lives it takes the library's log lines. Whoever has processes of this program at work hands theirs to it.
class Notices {
public:
    Notices();
    ~Notices();
    Notices(const Notices&) = delete;
    Notices& operator=(const Notices&) = delete;

    // A warning, unless it has been told already or $CONVT_JIT_LOG wants none. Thread-safe.
    void tell(std::string_view warning);

private:
    const bool wanted_;
    std::mutex mutex_;
    std::set<std::string, std::less<>> told_;
};

}  // namespace convt_jit::tools
