// LayeredStore: several stores as one, asked in order.
#pragma once

#include "cache/store.h"

#include <vector>

namespace convt_jit {

enum class StoreRole {
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
    // "disk /home/a/.cache/convt_jit, read-only disk /opt/kernels"
    std::string describe() const override;

private:
    std::vector<RankedStore> stores_;
};

}  // namespace convt_jit
