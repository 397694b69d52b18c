#include "cache/layered_store.h"

#include <algorithm>
#include <utility>

namespace convt_jit {

LayeredStore::LayeredStore(std::vector<RankedStore> stores) : stores_(std::move(stores)) {}

std::shared_ptr<const Entry> LayeredStore::find(const std::string& key) {
    for (auto at = stores_.begin(); at != stores_.end(); ++at) {
        auto entry = at->store->find(key);
        if (entry == nullptr) continue;
        remember(key, *entry, at->store.get());
        return entry;
    }
    return nullptr;
}

bool LayeredStore::put(const std::string& key, const Entry& entry) {
    bool kept = true;
    for (const auto& [store, role] : stores_)
        if (role != StoreRole::read_only) kept = store->put(key, entry) && kept;
    return kept;
}

Claim LayeredStore::claim(const std::string& key) {
    for (const auto& [store, role] : stores_) {
        if (role != StoreRole::writable) continue;
        auto claim = store->claim(key);
        if (claim.found != nullptr) remember(key, *claim.found, store.get());
        return claim;
    }
    return {};
}

std::vector<std::string> LayeredStore::producers() {
    std::vector<std::string> all;
    for (const auto& ranked : stores_)
        for (auto& producer : ranked.store->producers())
            if (std::find(all.begin(), all.end(), producer) == all.end()) all.push_back(std::move(producer));
    return all;
}

void LayeredStore::remember(const std::string& key, const Entry& entry, const Store* from) {
    for (const auto& [store, role] : stores_) {
        if (store.get() == from) return;
        if (role == StoreRole::memory) store->put(key, entry);
    }
}

std::string LayeredStore::describe() const {
    std::string text;
    for (const auto& ranked : stores_) text += (text.empty() ? "" : ", ") + ranked.store->describe();
    return text;
}

}  // namespace convt_jit
