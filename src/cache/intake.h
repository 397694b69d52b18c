// Intake: entries from elsewhere, taken into a cache as one: all of them, or none.
#pragma once

#include "cache/entry.h"
#include "cache/file.h"
#include "cache/key_lock.h"
#include "cache/root.h"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace convt_jit {

// What can be known before anything is written: whether there is a place for each of those keys. Throws CacheError.
void expect_room(const Root& root, const std::vector<std::string>& keys);

class Intake {
public:
    // `root` must outlive it. Waits for others, for one that fails takes back what another one found there. Throws
    // CacheError where that takes too long.
    Intake(const Root& root, std::chrono::milliseconds wait);
    // Takes back what it published and made, unless that was committed. Never what was there before.
    ~Intake();
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;

    // Publishes an entry; false where a sound one is there already. What else has its name goes to quarantine. Throws
    // CacheError.
    bool take(const std::string& key, const Entry& entry, const std::string& bytes);
    void commit() noexcept { committed_ = true; }

private:
    struct Published {
        std::string key;
        dev_t device = 0;
        ino_t number = 0;
    };
    [[nodiscard]] FileDescriptor folder_for(const std::string& key);

    const Root& root_;
    KeyLock lock_;
    std::vector<std::string> made_;  // folders
    std::vector<Published> published_;
    bool committed_ = false;
};

}  // namespace convt_jit
