#include "cache/layered_store.h"

#include <algorithm>
#include <utility>

namespace convt_jit {

LayeredStore::LayeredStore(std::vector<RankedStore> stores) : stores_(std::move(stores)) {}

std::shared_ptr<const Entry> LayeredStore::find(const std::string& key) {
    for (const auto& ranked : stores_)
        if (auto entry = ranked.store->find(key)) return entry;
    return nullptr;
}

bool LayeredStore::put(const std::string& key, const Entry& entry) {
    bool kept = true;
    for (const auto& [store, role] : stores_)
        if (role != StoreRole::read_only) kept = store->put(key, entry) && kept;
    return kept;
}

Claim LayeredStore::claim(const std::string& key) {
    for (const auto& [store, role] : stores_)
        if (role == StoreRole::writable) return store->claim(key);
    return {};
}

std::vector<std::string> LayeredStore::producers() {
    std::vector<std::string> all;
    for (const auto& ranked : stores_)
        for (auto& producer : ranked.store->producers())
            if (std::find(all.begin(), all.end(), producer) == all.end()) all.push_back(std::move(producer));
    return all;
}

std::string LayeredStore::describe() const {
    std::string text;
    for (const auto& ranked : stores_) text += (text.empty() ? "" : ", ") + ranked.store->describe();
    return text;
}

}  // namespace convt_jit
