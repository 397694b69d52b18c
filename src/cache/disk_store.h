// DiskStore: one file per entry, <dir>/<first two digits>/<key>.cubin, published atomically.
#pragma once

#include "cache/store.h"

#include <atomic>
#include <string_view>

namespace convt_jit {

class DiskStore final : public Store {
public:
    // The directory is made (0700) on the first put. What is made in it gets the directory's own permissions, so that
    // a private cache stays private and a shared one can be shared.
    explicit DiskStore(std::string directory);
    std::shared_ptr<const Entry> find(const std::string& key) override;
    bool put(const std::string& key, const Entry& entry) override;
    std::string describe() const override;

private:
    void warn_once(std::atomic<bool>& warned, std::string_view what, std::string_view why) const;

    std::string directory_;
    // One warning each: a full disk or a damaged file would otherwise fill the log at every call.
    std::atomic<bool> warned_find_ = false, warned_put_ = false;
};

}  // namespace convt_jit
