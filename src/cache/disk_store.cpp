#include "cache/disk_store.h"

#include "cache/file.h"
#include "log/log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <exception>
#include <utility>

namespace convt_jit {
namespace {

// Far above any cubin; keeps a stray file from filling the memory.
constexpr std::size_t kMaxEntryBytes = std::size_t{1} << 28;

std::string fan_out(const std::string& key) { return key.substr(0, 2); }
std::string file_name(const std::string& key) { return key + ".cubin"; }

bool absent(const std::error_code& error) { return error.value() == ENOENT || error.value() == ENOTDIR; }

}  // namespace

DiskStore::DiskStore(std::string directory) : directory_(std::move(directory)) {}

std::shared_ptr<const Entry> DiskStore::find(const std::string& key) try {
    if (!is_digest(key)) return nullptr;
    std::error_code error;
    const auto root = open_at(AT_FDCWD, directory_.c_str(), O_RDONLY | O_DIRECTORY, 0, error);
    if (error) {
        if (!absent(error)) warn_once(warned_find_, directory_, error.message());
        return nullptr;
    }
    const std::string path = fan_out(key) + "/" + file_name(key);
    const auto folder = open_at(root.get(), fan_out(key).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, error);
    // O_NONBLOCK: a pipe of that name must not block us.
    const auto file = error
                          ? FileDescriptor()
                          : open_at(folder.get(), file_name(key).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, error);
    const auto bytes = error ? std::nullopt : read_whole(file, kMaxEntryBytes, error);
    if (error) {
        if (!absent(error)) warn_once(warned_find_, path, error.message());
        return nullptr;
    }
    std::string why;
    auto entry = decode(*bytes, &why);
    if (entry && digest(entry->key) != key) {
        why = "it belongs to another key";
        entry.reset();
    }
    if (!entry) {
        warn_once(warned_find_, path, why);
        return nullptr;
    }
    return std::make_shared<const Entry>(*std::move(entry));
} catch (const std::exception& error) {
    warn_once(warned_find_, key, error.what());
    return nullptr;
}

bool DiskStore::put(const std::string& key, const Entry& entry) try {
    if (!is_digest(key) || digest(entry.key) != key) return false;
    std::error_code error;
    const auto root = make_directory(directory_, 0700, error);
    struct stat status {};
    if (!error && ::fstat(root.get(), &status) != 0) error = {errno, std::generic_category()};
    const mode_t mode = status.st_mode & 0777;
    FileDescriptor folder;
    if (!error) {
        if (::mkdirat(root.get(), fan_out(key).c_str(), mode) != 0 && errno != EEXIST)
            error = {errno, std::generic_category()};
        else
            folder = open_at(root.get(), fan_out(key).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, error);
    }
    if (!error) error = publish(folder, file_name(key), encode(entry), mode & 0666);
    if (error) warn_once(warned_put_, "kernels are not kept", error.message());
    return !error;
} catch (const std::exception& error) {
    warn_once(warned_put_, "kernels are not kept", error.what());
    return false;
}

std::string DiskStore::describe() const { return "disk " + directory_; }

void DiskStore::warn_once(std::atomic<bool>& warned, std::string_view what, std::string_view why) const {
    if (warned.exchange(true)) return;
    log::warning("{}: {}: {}", describe(), what, why);
}

}  // namespace convt_jit
