// DiskStore: one file per entry, <dir>/<first two digits>/<key>.cubin, published atomically.
#pragma once

#include "cache/holders.h"
#include "cache/root.h"
#include "cache/store.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string_view>

namespace convt_jit {

class KeyLock;
struct Read;

enum class Access { read_write, read_only };

struct DiskOptions {
    std::string directory;
    Access access = Access::read_write;
    bool trusted = false;                              // load also what somebody else could have written
    std::uint64_t max_bytes = std::uint64_t{1} << 30;  // 0: no cap
    std::chrono::milliseconds wait{30'000};            // for another process that compiles the same key
    std::function<bool()> stop_waiting{};              // asked meanwhile: true gives the claim up
};

class DiskStore final : public Store {
public:
    // The directory is made (0700) on the first put. What is made in it gets the directory's own permissions, so that
    // a private cache stays private and a shared one can be shared.
    explicit DiskStore(std::string directory);
    explicit DiskStore(DiskOptions options);
    // A damaged entry is set aside, so that it will be made anew; none is changed with read-only access.
    std::shared_ptr<const Entry> find(const std::string& key) override;
    // May trim the cache when it outgrows its cap.
    bool put(const std::string& key, const Entry& entry) override;
    Claim claim(const std::string& key) override;
    std::vector<std::string> producers() override;
    std::string describe() const override;

private:
    // `folder`, `in_the_way` become the path of the folder that is in the way, where it is one.
    std::shared_ptr<const Entry> try_find(const std::string& key, std::error_code& error, std::string& folder);
    std::error_code try_put(const std::string& key, const Entry& entry, const std::string& bytes,
                            std::string& in_the_way);
    void set_damaged_aside(const Root& root, const std::string& key, const Read& read);
    void mark_used(const Root& root, const std::string& key, const FileDescriptor& file);
    void tell_useless(const Root& root, const KeyLock& lock);
    [[nodiscard]] std::string path_of_folder(const std::string& key) const;
    void account(const Root& root, std::int64_t more_bytes);
    // One warning per cause: a full disk or a damaged file would otherwise fill the log at every call.
    void warn(const std::string& cause, const std::string& line);
    [[nodiscard]] bool writes() const noexcept { return options_.access == Access::read_write; }

    const DiskOptions options_;
    Holder holder_;
    std::array<std::atomic<bool>, 256> swept_{};  // fan-out folders whose orphans this process has removed
    std::atomic<bool> swept_root_{false};
    std::mutex trimming_;
    std::chrono::steady_clock::time_point next_trim_;
    std::mutex restoring_;
    std::vector<std::string> restored_;  // producers, as the entries told them where the list was lost
    std::mutex warning_;
    std::set<std::string> warned_;  // causes
};

}  // namespace convt_jit
