#include "cache/memory_store.h"

#include <exception>
#include <utility>

namespace convt_jit {

std::shared_ptr<const Entry> MemoryStore::find(const std::string& key) {
    const std::scoped_lock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    held_.splice(held_.begin(), held_, found->second);
    return found->second->entry;
}

bool MemoryStore::put(const std::string& key, const Entry& entry) try {
    return put(key, std::make_shared<const Entry>(entry));
} catch (const std::exception&) {
    return false;
}

bool MemoryStore::put(const std::string& key, std::shared_ptr<const Entry> entry) try {
    const std::size_t size = entry->cubin.size();
    if (size > max_bytes_) return false;
    std::list<Held> fresh;  // made and dropped outside the lock
    fresh.push_back({key, std::move(entry)});
    std::list<Held> dropped;
    const std::scoped_lock lock(mutex_);
    const auto drop = [&](std::list<Held>::iterator victim) {
        bytes_ -= victim->entry->cubin.size();
        by_key_.erase(victim->key);
        dropped.splice(dropped.end(), held_, victim);
    };
    if (const auto old = by_key_.find(key); old != by_key_.end()) drop(old->second);
    while (bytes_ + size > max_bytes_) drop(std::prev(held_.end()));
    producers_.insert(fresh.front().entry->key.producer);
    by_key_.emplace(fresh.front().key, fresh.begin());
    held_.splice(held_.begin(), fresh);
    bytes_ += size;
    return true;
} catch (const std::exception&) {
    return false;
}

std::vector<std::string> MemoryStore::producers() {
    const std::scoped_lock lock(mutex_);
    return {producers_.begin(), producers_.end()};
}

std::string MemoryStore::describe() const { return "memory"; }

std::size_t MemoryStore::bytes() const {
    const std::scoped_lock lock(mutex_);
    return bytes_;
}

void MemoryStore::clear() {
    const std::scoped_lock lock(mutex_);
    by_key_.clear();
    held_.clear();
    bytes_ = 0;
}

}  // namespace convt_jit
