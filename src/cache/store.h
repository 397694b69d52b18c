// Store: where entries are kept. A store never throws: trouble is logged and means "not there" or "not kept".
#pragma once

#include "cache/entry.h"

#include <memory>
#include <string>

namespace convt_jit {

class Store {
public:
    virtual ~Store() = default;
    // The entry whose key has that digest, checked; null where there is none. Thread-safe.
    [[nodiscard]] virtual std::shared_ptr<const Entry> find(const std::string& key) = 0;
    // Keeps an entry under its key's digest. False where it could not be kept. Thread-safe.
    virtual bool put(const std::string& key, const Entry& entry) = 0;
    // For log lines: "disk /home/a/.cache/convt_jit".
    [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace convt_jit
