#include "cache/layered_store.h"

#include <utility>

namespace convt_jit {

LayeredStore::LayeredStore(std::vector<RankedStore> stores) : stores_(std::move(stores)) {}

std::shared_ptr<const Entry> LayeredStore::find(const std::string& key) {
    for (auto at = stores_.begin(); at != stores_.end(); ++at) {
        auto entry = at->store->find(key);
        if (entry == nullptr) continue;
        for (auto above = stores_.begin(); above != at; ++above)
            if (above->role == StoreRole::memory) above->store->put(key, *entry);
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

std::string LayeredStore::describe() const {
    std::string text;
    for (const auto& ranked : stores_) text += (text.empty() ? "" : ", ") + ranked.store->describe();
    return text;
}

}  // namespace convt_jit
