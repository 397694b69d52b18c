#include "cache/intake.h"

#include "cache/entry_file.h"
#include "cache/layout.h"
#include "cache/quarantine.h"
#include "convt_jit/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <thread>

namespace convt_jit {
namespace {

[[noreturn]] void refuse(const Root& root, const std::string& name, const std::error_code& error) {
    throw CacheError(root.path() + "/" + name, error.message());
}

std::error_code writable(const FileDescriptor& folder) {
    return ::faccessat(folder.get(), ".", W_OK | X_OK, AT_EACCESS) == 0 ? std::error_code() : last_error();
}

bool find(const FileDescriptor& folder, const std::string& name, struct stat& status) {
    return ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

Intake::Intake(const Root& root, std::chrono::milliseconds wait) : root_(root), lock_(root) {
    const auto deadline = std::chrono::steady_clock::now() + wait;
    // Without locks nobody can be waited for.
    while (lock_.try_lock_import() == LockState::busy) {
        if (std::chrono::steady_clock::now() >= deadline)
            throw CacheError(root.path(), "another process imports into it; nothing was done");
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

// The names of producers stay: another process may have put an entry under them meanwhile, and one that nobody has
// costs a lookup nothing.
Intake::~Intake() {
    if (committed_) return;
    for (const auto& [key, device, number] : published_) {
        std::error_code error;
        const auto folder = root_.folder(layout::fan_out(key), error);
        const std::string name = layout::entry_name(key);
        struct stat status {};
        // Another process may have replaced it: that one is not ours.
        if (!error && find(folder, name, status) && status.st_dev == device && status.st_ino == number)
            ::unlinkat(folder.get(), name.c_str(), 0);
    }
    for (const auto& name : made_) ::unlinkat(root_.get(), name.c_str(), AT_REMOVEDIR);  // if nobody else uses it
}

void expect_room(const Root& root, const std::vector<std::string>& keys) {
    bool adds_folders = false;
    std::set<std::string> seen;
    for (const auto& key : keys) {
        const std::string name = layout::fan_out(key);
        if (!seen.insert(name).second) continue;
        std::error_code error;
        const auto folder = root.folder(name, error);
        adds_folders = adds_folders || is(error, ENOENT);
        if (!error) error = writable(folder);
        if (error && !is(error, ENOENT)) refuse(root, name, error);
    }
    if (!adds_folders) return;
    if (const auto error = writable(root.directory())) throw CacheError(root.path(), error.message());
}

FileDescriptor Intake::folder_for(const std::string& key) {
    const std::string name = layout::fan_out(key);
    struct stat status {};
    const bool there = find(root_.directory(), name, status);
    std::error_code error;
    auto folder = root_.make_folder(name, error);
    if (error) refuse(root_, name, error);
    if (!there) made_.push_back(name);
    return folder;
}

bool Intake::take(const std::string& key, const Entry& entry, const std::string& bytes) {
    const auto folder = folder_for(key);
    const std::string name = layout::entry_name(key), path = layout::fan_out(key) + "/" + name;
    struct stat status {};
    // Looked at before it is read: what is published meanwhile is not what is set aside. Where somebody else was
    // faster, what is there now may be sound; after some attempts it is replaced by an entry that is.
    for (int attempt = 0; attempt < 3; ++attempt) {
        const bool there = find(folder, name, status);
        if (read_entry(root_, key).entry) return false;
        if (!there) break;
        const auto aside = set_aside(root_, folder, name, status);
        if (aside.error) refuse(root_, path, aside.error);
        if (aside.moved) break;
    }
    if (const auto error = write_entry(root_, folder, key, entry.key.producer, bytes)) refuse(root_, path, error);
    if (find(folder, name, status)) published_.push_back({key, status.st_dev, status.st_ino});
    return true;
}

}  // namespace convt_jit
