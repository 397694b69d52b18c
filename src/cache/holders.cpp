#include "cache/holders.h"

#include "cache/layout.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <optional>
#include <utility>

namespace convt_jit {
namespace {

constexpr std::string_view kLocked = "locked\n", kUnlocked = "unlocked\n";
constexpr std::size_t kMaxBytes = std::size_t{1} << 24;
constexpr std::size_t kManyHolders = 64;
// A process on another host, or one whose number may have been taken over, is believed that long.
constexpr std::chrono::hours kBelief{24};

// Network and user-space file systems may keep locks to one host, or to none.
bool shares_locks(const Root& root) noexcept {
    struct statfs status {};
    if (::fstatfs(root.get(), &status) != 0) return false;
    switch (static_cast<unsigned long>(status.f_type)) {
        case EXT4_SUPER_MAGIC:
        case XFS_SUPER_MAGIC:
        case BTRFS_SUPER_MAGIC:
        case TMPFS_MAGIC:
        case OVERLAYFS_SUPER_MAGIC:
        case F2FS_SUPER_MAGIC:
        case 0x2fc12fc1:  // ZFS
            return true;
        default:
            return false;
    }
}

// What the file of a holder says; nothing where it has gone meanwhile.
struct Testimony {
    std::string keys;
    bool alive = false;
};
std::optional<Testimony> read_testimony(const Root& root, const FileDescriptor& folder, const std::string& name,
                                        const Writer& writer, bool locks_are_shared, std::error_code& error) {
    const auto file = root.file(folder, name, error);
    struct stat status {};
    if (!error) error = status_of(file, status);
    if (error) return std::nullopt;
    auto text = read_whole(file, kMaxBytes, error);
    if (!text) return std::nullopt;
    HolderFacts facts;
    facts.locked = ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    facts.promised_lock = text->starts_with(kLocked);
    facts.locks_are_shared = locks_are_shared;
    facts.local = is_local(writer);
    facts.running = is_running(writer.pid);
    facts.age = age_of(status);
    return Testimony{*std::move(text), is_alive(facts)};
}

// Calls `use` for the file of each holder. Returns what could not be read, with the reason, as Holdings::unknown has
// it.
std::string for_each_testimony(
    const Root& root,
    const std::function<void(const FileDescriptor& folder, const std::string& name, const Testimony&)>& use) {
    std::string unknown;
    const auto note = [&](const std::string& path, const std::error_code& error) {
        if (error && !is(error, ENOENT) && unknown.empty()) unknown = path + ": " + error.message();
    };
    std::error_code error;
    const auto folder = root.folder(layout::kHolders, error);
    note(layout::kHolders, error);
    if (error) return unknown;
    const bool locks_are_shared = shares_locks(root);
    note(layout::kHolders, for_each_name(folder, [&](const std::string& name) {
             const auto writer = parse_writer(name);
             if (!writer) return;
             std::error_code failure;
             const auto told = read_testimony(root, folder, name, *writer, locks_are_shared, failure);
             note(std::string(layout::kHolders) + "/" + name, failure);
             if (told) use(folder, name, *told);
         }));
    return unknown;
}

}  // namespace

Holder::~Holder() {
    // A forked child shares the file but is not the process that it stands for.
    if (file_ && writer_.pid == ::getpid()) ::unlinkat(folder_.get(), to_string(writer_).c_str(), 0);
}

void Holder::hold(const Root& root, const std::string& key) {
    const std::scoped_lock lock(mutex_);
    if (!begun_ || (file_ && writer_.pid != ::getpid())) begin(root);
    if (!file_ || !keys_.insert(key).second) return;
    // One write per line: O_APPEND keeps it whole, and a reader ignores a last line that is cut.
    static_cast<void>(write_whole(file_, key + "\n"));
}

void Holder::begin(const Root& root) {
    begun_ = true;
    keys_.clear();
    file_ = FileDescriptor();
    std::error_code error;
    folder_ = root.make_folder(layout::kHolders, error);
    if (error) return;
    // Killed processes leave theirs behind; a cache that never needs trimming must not collect them for ever.
    std::size_t count = 0;
    static_cast<void>(for_each_name(folder_, [&](const std::string&) { ++count; }));
    if (count > kManyHolders) sweep_holders(root);
    writer_ = this_writer();
    const std::string name = to_string(writer_);
    // Under a name that nobody takes for a holder until the lock is held.
    const std::string temporary = temporary_name(writer_);
    file_ = open_at(folder_.get(), temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0600, error);
    if (error) return;
    give_to_owner_of(folder_, file_);
    static_cast<void>(::fchmod(file_.get(), root.file_mode()));
    const bool locked = ::flock(file_.get(), LOCK_EX | LOCK_NB) == 0;
    if (write_whole(file_, locked ? kLocked : kUnlocked) ||
        ::renameat(folder_.get(), temporary.c_str(), folder_.get(), name.c_str()) != 0) {
        ::unlinkat(folder_.get(), temporary.c_str(), 0);
        file_ = FileDescriptor();
    }
}

bool is_alive(const HolderFacts& facts) noexcept {
    if (facts.locked) return true;
    if (facts.promised_lock && facts.locks_are_shared) return false;
    // Locks tell nothing here.
    return (!facts.local || facts.running) && facts.age < kBelief;
}

Holdings holdings(const Root& root) {
    Holdings found;
    found.unknown = for_each_testimony(root, [&](const FileDescriptor&, const std::string&, const Testimony& told) {
        if (!told.alive) return;
        ++found.processes;
        std::string_view text = told.keys;
        text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
        for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
            if (is_digest(text.substr(0, end))) found.keys.emplace(text.substr(0, end));
            text.remove_prefix(end + 1);
        }
    });
    return found;
}

void sweep_holders(const Root& root) {
    static_cast<void>(
        for_each_testimony(root, [](const FileDescriptor& folder, const std::string& name, const Testimony& told) {
            if (!told.alive) static_cast<void>(::unlinkat(folder.get(), name.c_str(), 0));
        }));
}

}  // namespace convt_jit
