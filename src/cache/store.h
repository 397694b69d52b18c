// Store: where entries are kept. A store never throws: trouble is logged and means "not there" or "not kept".
#pragma once

#include "cache/entry.h"

#include <memory>
#include <string>
#include <vector>

namespace convt_jit {

// What came of asking for the right to compile a key.
struct Claim {
    std::shared_ptr<const Entry> found;  // another process was faster: nothing is left to compile
    std::shared_ptr<const void> right;   // others wait as long as it lives; null where nobody can be told
    bool stopped = false;                // the wait was given up: nothing is to be compiled
};

class Store {
public:
    virtual ~Store() = default;
    // The entry whose key has that digest, checked; null where there is none. Thread-safe.
    [[nodiscard]] virtual std::shared_ptr<const Entry> find(const std::string& key) = 0;
    // Keeps an entry under its key's digest. False where it could not be kept. Thread-safe.
    virtual bool put(const std::string& key, const Entry& entry) = 0;
    // For log lines: "disk /home/a/.cache/convt_jit".
    [[nodiscard]] virtual std::string describe() const = 0;

    // To be called between a miss and the compiler: waits while another process compiles the same key, not for ever.
    // Compile unless it found something, put, then let go of the right. Thread-safe.
    [[nodiscard]] virtual Claim claim(const std::string& key) { return {find(key), nullptr}; }
    // The compilers that made what is kept here. Thread-safe.
    [[nodiscard]] virtual std::vector<std::string> producers() { return {}; }
};

}  // namespace convt_jit
