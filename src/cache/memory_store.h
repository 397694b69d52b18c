// MemoryStore: entries of this process, so that a second device needs neither disk nor compiler.
#pragma once

#include "cache/store.h"

#include <cstddef>
#include <list>
#include <mutex>
#include <set>
#include <string_view>
#include <unordered_map>

namespace convt_jit {

class MemoryStore final : public Store {
public:
    static constexpr std::size_t kDefaultBytes = std::size_t{256} << 20;

    // Keeps at most that many bytes of cubins; the least recently used go first.
    explicit MemoryStore(std::size_t max_bytes = kDefaultBytes) noexcept : max_bytes_(max_bytes) {}
    std::shared_ptr<const Entry> find(const std::string& key) override;
    bool put(const std::string& key, const Entry& entry) override;
    // The same without a copy of the cubin.
    bool put(const std::string& key, std::shared_ptr<const Entry> entry);
    std::vector<std::string> producers() override;
    std::string describe() const override;
    [[nodiscard]] std::size_t bytes() const;
    void clear();

private:
    struct Held {
        std::string key;
        std::shared_ptr<const Entry> entry;
    };

    const std::size_t max_bytes_;
    mutable std::mutex mutex_;
    std::size_t bytes_ = 0;
    std::set<std::string> producers_;                                         // of all that was ever put: one or two
    std::list<Held> held_;                                                    // most recently used first
    std::unordered_map<std::string_view, std::list<Held>::iterator> by_key_;  // the keys live in `held_`
};

}  // namespace convt_jit
