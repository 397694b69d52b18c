// ScratchCache: where candidates are compiled to. Thousands of losers have no place in the user's cache, where each
// would push out a kernel that somebody uses.
#pragma once

#include <optional>
#include <string>

namespace convt_jit::tools {

// While it lives, this process and those that it starts see an environment with a directory of its own as the user's
// cache, and the user's among those that are only read. Make it before any engine. What tuners that were killed have
// left is removed: each holds a lock on its own. Throws std::system_error.
class ScratchCache {
public:
    ScratchCache();
    ~ScratchCache();
    ScratchCache(const ScratchCache&) = delete;
    ScratchCache& operator=(const ScratchCache&) = delete;

    // The directory that an engine would have used; unset: there is none.
    [[nodiscard]] const std::optional<std::string>& users() const noexcept { return users_; }

private:
    std::string directory_;
    int lock_ = -1;  // on the directory, as long as it is in use
    std::optional<std::string> users_;
};

}  // namespace convt_jit::tools
