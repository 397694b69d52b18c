#include "cache/disk_store.h"

#include "cache/clock.h"
#include "cache/entry_file.h"
#include "cache/inventory.h"
#include "cache/key_lock.h"
#include "cache/layout.h"
#include "cache/link.h"
#include "cache/producers.h"
#include "cache/quarantine.h"
#include "cache/temporary.h"
#include "cache/trim.h"
#include "cache/trust.h"
#include "cache/usage.h"
#include "log/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <thread>
#include <utility>

namespace convt_jit {
namespace {

using namespace std::chrono_literals;

constexpr int kAttempts = 3;

bool is_absent(const std::error_code& error) { return is(error, ENOENT) || is(error, ENOTDIR); }

// What network file systems, or somebody who clears the cache meanwhile, cause and a second attempt mends.
bool is_passing(const std::error_code& error) { return is(error, EBUSY) || is(error, ESTALE) || is(error, ENOENT); }

std::string with_remedy(const std::error_code& error) {
    const bool says_it = is_distrust(error) || is_link(error);
    return error.message() + (says_it ? "" : " (CONVT_JIT_CACHE_DIR names another directory)");
}

// Each folder that is none is a cause of its own; what else stops one stops them all.
std::string cause_of(const std::error_code& error, const std::string& folder) {
    return error.message() + (is_link(error) || is(error, ENOTDIR) ? folder : "");
}

}  // namespace

DiskStore::DiskStore(std::string directory) : DiskStore(DiskOptions{.directory = std::move(directory)}) {}

DiskStore::DiskStore(DiskOptions options) : options_(std::move(options)) {}

std::shared_ptr<const Entry> DiskStore::find(const std::string& key) try {
    if (!is_digest(key)) return nullptr;
    std::error_code error;
    std::string folder;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        if (auto entry = try_find(key, error, folder)) return entry;
        if (!is(error, ESTALE)) break;
    }
    if (error && !is_absent(error))
        warn(cause_of(error, folder), (folder.empty() ? key : folder) + " is not used: " + with_remedy(error));
    return nullptr;
} catch (const std::exception& error) {
    warn(error.what(), error.what());
    return nullptr;
}

std::shared_ptr<const Entry> DiskStore::try_find(const std::string& key, std::error_code& error, std::string& folder) {
    folder.clear();
    const auto root = Root::open(options_.directory, options_.trusted, error);
    if (!root) return nullptr;
    Read read = read_entry(*root, key);
    if (!read.damage.empty()) {
        error.clear();
        set_damaged_aside(*root, key, read);
        return nullptr;
    }
    error = read.error;
    if (!read.folder) folder = path_of_folder(key);
    if (!read.entry) return nullptr;
    mark_used(*root, key, read.file);
    if (writes()) register_producer(*root, read.entry->key.producer);  // its name may have been lost
    return std::make_shared<const Entry>(*std::move(read.entry));
}

void DiskStore::set_damaged_aside(const Root& root, const std::string& key, const Read& read) {
    const std::string name = layout::entry_name(key);
    Aside aside;
    if (writes()) aside = set_aside(root, read.folder, name, read.seen);
    std::string then;
    if (aside.moved) then = "; it was moved to quarantine and will be made anew";
    if (aside.error) then = "; it could not be moved to quarantine: " + aside.error.message();
    // Once for each: they are what a failing disk looks like.
    warn("damage " + key, layout::fan_out(key) + "/" + name + " is damaged: " + read.damage + then);
}

void DiskStore::mark_used(const Root& root, const std::string& key, const FileDescriptor& file) {
    if (!writes()) return;
    holder_.hold(root, key);
    struct stat status {};
    if (status_of(file, status)) return;
    const CacheTime time = cache_time(root);
    const auto stamp = next_stamp(stamp_of(status), time);
    if (stamp && !set_stamp(file, *stamp)) advance(root, time, *stamp);
}

bool DiskStore::put(const std::string& key, const Entry& entry) try {
    if (!writes() || !is_digest(key) || digest(entry.key) != key) return false;
    const std::string bytes = encode(entry);
    std::error_code error;
    std::string folder;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        error = try_put(key, entry, bytes, folder);
        if (!error) return true;
        if (!is_passing(error)) break;
        std::this_thread::sleep_for((attempt + 1) * 5ms);
    }
    std::error_code ignored;
    std::string nowhere;
    if (is_passing(error) && try_find(key, ignored, nowhere) != nullptr) return true;  // another process was faster
    warn(cause_of(error, folder),
         "kernels are not kept: " + (folder.empty() ? "" : folder + ": ") + with_remedy(error));
    return false;
} catch (const std::exception& error) {
    warn(error.what(), std::string("kernels are not kept: ") + error.what());
    return false;
}

std::error_code DiskStore::try_put(const std::string& key, const Entry& entry, const std::string& bytes,
                                   std::string& in_the_way) {
    in_the_way.clear();
    std::error_code error;
    const auto root = Root::make(options_.directory, options_.trusted, error);
    if (!root) return error;
    const std::string folder_name = layout::fan_out(key), name = layout::entry_name(key);
    const auto folder = root->make_folder(folder_name, error);
    if (error) {
        in_the_way = path_of_folder(key);
        return error;
    }
    if (!swept_[std::stoul(folder_name, nullptr, 16)].exchange(true)) sweep_orphans(folder);
    if (!swept_root_.exchange(true)) sweep_orphans(root->directory());

    struct stat old {};
    const bool replaces = ::fstatat(folder.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (replaces && S_ISDIR(old.st_mode)) set_aside(*root, folder, name, old);  // rename would not replace it
    if (error = write_entry(*root, folder, key, entry.key.producer, bytes); error) return error;
    holder_.hold(*root, key);
    account(*root, static_cast<std::int64_t>(bytes.size()) - (replaces ? static_cast<std::int64_t>(old.st_size) : 0));
    return {};
}

void DiskStore::account(const Root& root, std::int64_t more_bytes) {
    auto usage = add_usage(root, more_bytes);
    if (!usage) {
        usage = Usage{total_bytes(list_items(root)), 0};  // the new entry is among them
        set_usage(root, usage->bytes);
    }
    if (options_.max_bytes == 0 || usage->bytes <= options_.max_bytes) return;

    const std::unique_lock lock(trimming_, std::try_to_lock);
    const auto now = std::chrono::steady_clock::now();
    if (!lock || now < next_trim_) return;
    const auto report = trim(root, options_.max_bytes, options_.max_bytes / 10 * 9, false);
    if (report.busy) return;
    if (!report.holders_unknown.empty())
        warn("holders", "nothing is evicted, as nobody can tell what is in use: " + report.holders_unknown +
                            " (`convt cache verify` tells more)");
    // Where all that is left is in use or new, the next puts need not look again at once.
    if (report.bytes_after > options_.max_bytes) next_trim_ = now + 1min;
    log::info("{}: trimmed from {} to {} bytes, {} entries removed", describe(), report.bytes_before,
              report.bytes_after, report.evicted);
}

Claim DiskStore::claim(const std::string& key) try {
    if (!writes() || !is_digest(key)) return {find(key), nullptr};
    std::error_code error;
    const auto root = Root::make(options_.directory, options_.trusted, error);
    if (!root) return {};
    const auto lock = std::make_shared<KeyLock>(*root);
    const auto deadline = std::chrono::steady_clock::now() + options_.wait;
    bool waited = false;
    for (auto pause = 1ms;; pause = std::min(2 * pause, 50ms)) {
        const auto state = lock->try_lock(key);
        if (state == LockState::useless) {
            tell_useless(*root, *lock);
            return {find(key), nullptr};
        }
        if (auto entry = find(key)) return {std::move(entry), nullptr};
        waited = waited || state == LockState::busy;
        // Also where the wait has just ended well: what would follow is the compiler.
        if (waited && options_.stop_waiting && options_.stop_waiting()) return {nullptr, nullptr, true};
        if (state == LockState::held) return {nullptr, lock};
        const auto now = std::chrono::steady_clock::now();
        if (now >= deadline) {
            log::info("{}: another process still compiles {} after {} ms: compiling it here too", describe(), key,
                      options_.wait.count());
            return {};
        }
        std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(pause, deadline - now));
    }
} catch (const std::exception& error) {
    warn(error.what(), error.what());
    return {};
}

void DiskStore::tell_useless(const Root& root, const KeyLock& lock) {
    constexpr const char* kThen = "other processes may compile the same kernel";
    // Where nothing can be written, puts say so; where the file system knows no locks, nothing can be done.
    if (lock.error() && ::faccessat(root.get(), ".", W_OK, AT_EACCESS) == 0)
        warn("lock", fmt::format("{}/{} cannot be used, so {}: {}", options_.directory, layout::kLock, kThen,
                                 lock.error().message()));
    else
        log::debug("{}: no locks here; {}", describe(), kThen);
}

std::vector<std::string> DiskStore::producers() try {
    std::error_code error;
    const auto root = Root::open(options_.directory, options_.trusted, error);
    if (!root) return {};
    auto listed = listed_producers(*root, &error);
    if (!listed.empty() || error) return listed;
    // Somebody has lost the list. The entries tell, once: it is made anew, or remembered where it cannot be.
    const std::scoped_lock lock(restoring_);
    if (restored_.empty()) restored_ = producers_of_entries(*root);
    if (writes())
        for (const auto& producer : restored_) register_producer(*root, producer);
    return restored_;
} catch (const std::exception&) {
    return {};
}

std::string DiskStore::path_of_folder(const std::string& key) const {
    return options_.directory + "/" + layout::fan_out(key);
}

void DiskStore::warn(const std::string& cause, const std::string& line) {
    bool first = false;
    {
        const std::scoped_lock lock(warning_);
        first = warned_.insert(cause).second;
    }
    if (first)
        log::warning("{}: {}", describe(), line);
    else
        log::debug("{}: {}", describe(), line);
}

std::string DiskStore::describe() const { return (writes() ? "disk " : "read-only disk ") + options_.directory; }

}  // namespace convt_jit
