// LayeredStore: several stores as one, asked in order.
#pragma once

#include "cache/store.h"

#include <vector>

namespace convt_jit {

enum class StoreRole {
    memory,    // keeps what is put, and what a later store finds
    writable,  // keeps what is put
    read_only  // is only asked; its entries are used in place, not copied up
};

struct RankedStore {
    std::shared_ptr<Store> store;
    StoreRole role = StoreRole::writable;
};

class LayeredStore final : public Store {
public:
    explicit LayeredStore(std::vector<RankedStore> stores);
    std::shared_ptr<const Entry> find(const std::string& key) override;
    // True where every store that should keep it did.
    bool put(const std::string& key, const Entry& entry) override;
    // Asks the first writable store: that is where the others will look.
    Claim claim(const std::string& key) override;
    std::vector<std::string> producers() override;
    // "memory, disk /home/a/.cache/convt_jit"
    std::string describe() const override;

private:
    // In the memory stores above `from`.
    void remember(const std::string& key, const Entry& entry, const Store* from);

    std::vector<RankedStore> stores_;
};

}  // namespace convt_jit
