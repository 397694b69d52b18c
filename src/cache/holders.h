// Holders: which entries live processes use. Each process keeps one file that it holds locked and to which it adds the
// keys it uses: one descriptor per process, however many kernels, and no trace that outlives a killed process for long.
#pragma once

#include "cache/root.h"
#include "cache/temporary.h"

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_set>

namespace convt_jit {

// The keys that this process uses, told to the others. Trouble means that the others do not know: an entry may then be
// evicted although it is used, which costs a compile later and nothing now.
class Holder {
public:
    Holder() = default;
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    ~Holder();
    void hold(const Root& root, const std::string& key);

private:
    void begin(const Root& root);

    std::mutex mutex_;
    FileDescriptor folder_, file_;
    Writer writer_;
    bool begun_ = false;
    std::unordered_set<std::string> keys_;
};

struct HolderFacts {
    bool locked = false;            // somebody holds the file's lock
    bool promised_lock = false;     // its process got the lock when it made the file
    bool locks_are_shared = false;  // the file system is local: a lock that is free here is free everywhere
    bool local = false;             // the process runs on this host
    bool running = false;           // ... and there is one of its number
    std::chrono::seconds age{0};    // since it last added a key
};
[[nodiscard]] bool is_alive(const HolderFacts& facts) noexcept;

// What live processes use.
struct Holdings {
    std::unordered_set<std::string> keys;
    std::size_t processes = 0;
    // What could not be read of it, and why. Then anything may be in use; empty: all is known.
    std::string unknown;
    [[nodiscard]] bool may_hold(const std::string& key) const { return !unknown.empty() || keys.contains(key); }
};
[[nodiscard]] Holdings holdings(const Root& root);
// Removes what the dead left. Whoever only looks does without.
void sweep_holders(const Root& root);

}  // namespace convt_jit
