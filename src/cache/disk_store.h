// DiskStore: one file per entry, <dir>/<first two digits>/<key>.cubin, published atomically.
#pragma once

#include "cache/store.h"

namespace convt_jit {

class DiskStore final : public Store {
public:
    // The directory is made (0700) on the first put.
    explicit DiskStore(std::string directory);
    std::shared_ptr<const Entry> find(const std::string& key) override;
    bool put(const std::string& key, const Entry& entry) override;
    std::string describe() const override;

private:
    std::string directory_;
};

}  // namespace convt_jit
