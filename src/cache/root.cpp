#include "cache/root.h"

#include "cache/link.h"
#include "cache/trust.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace convt_jit {
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;

}  // namespace

std::optional<Root> Root::open(const std::string& path, bool declared, std::error_code& error) {
    auto directory = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY, 0, error);
    return error ? std::nullopt : checked(path, std::move(directory), declared, error);
}

std::optional<Root> Root::make(const std::string& path, bool declared, std::error_code& error) {
    auto directory = make_directory(path, 0700, error);
    return error ? std::nullopt : checked(path, std::move(directory), declared, error);
}

std::optional<Root> Root::checked(const std::string& path, FileDescriptor directory, bool declared,
                                  std::error_code& error) {
    struct stat status {};
    error = status_of(directory, status);
    if (!error) error = distrust(status, ::geteuid(), declared);
    if (error) return std::nullopt;
    // With the set-group-ID bit, which keeps the group of a shared directory; without the sticky bit, which would keep
    // the others from mending a damaged entry.
    return Root(path, std::move(directory), status.st_mode & 02777, declared);
}

FileDescriptor Root::checked(FileDescriptor opened, std::error_code& error) const {
    struct stat status {};
    if (!error) error = status_of(opened, status);
    if (!error) error = distrust(status, ::geteuid(), declared_);
    return error ? FileDescriptor() : std::move(opened);
}

FileDescriptor Root::open_folder(const std::string& name, std::error_code& error) const {
    auto opened = open_at(get(), name.c_str(), kFolder, 0, error);
    struct stat status {};
    if ((is(error, ENOTDIR) || is(error, ELOOP)) && ::fstatat(get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(status.st_mode))
        error = link_error();
    return opened;
}

FileDescriptor Root::folder(const std::string& name, std::error_code& error) const {
    return checked(open_folder(name, error), error);
}

FileDescriptor Root::make_folder(const std::string& name, std::error_code& error) const {
    const bool made = ::mkdirat(get(), name.c_str(), mode_ & 0777) == 0;
    if (!made && errno != EEXIST) {
        error = last_error();
        return {};
    }
    auto opened = open_folder(name, error);
    if (made && opened) {
        give_to_owner_of(directory_, opened);
        // The umask may have taken away what a shared directory needs.
        static_cast<void>(::fchmod(opened.get(), mode_));
    }
    return checked(std::move(opened), error);
}

FileDescriptor Root::file(const FileDescriptor& folder, const std::string& name, std::error_code& error) const {
    // O_NONBLOCK: a pipe of that name must not block us.
    return checked(open_at(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, error), error);
}

FileDescriptor Root::own_file(const char* name, std::error_code& error) const {
    constexpr int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK;
    auto opened = checked(open_at(get(), name, flags, 0, error), error);
    // What others left and nobody else can use is in the way of all; it holds nothing that is missed.
    if (is(error, EACCES) || is_distrust(error))
        if (::unlinkat(get(), name, 0) == 0) error = {ENOENT, std::generic_category()};
    if (!is(error, ENOENT)) return opened;
    // Not what somebody else may put there meanwhile: it would be given away.
    opened = open_at(get(), name, flags | O_CREAT | O_EXCL, file_mode(), error);
    if (is(error, EEXIST)) return checked(open_at(get(), name, flags, 0, error), error);
    if (opened) {
        give_to_owner_of(directory_, opened);
        static_cast<void>(::fchmod(opened.get(), file_mode()));
    }
    return checked(std::move(opened), error);
}

}  // namespace convt_jit
