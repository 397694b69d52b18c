// Root: an opened cache directory. All other paths are looked up from it, and no link in it is followed.
#pragma once

#include "cache/file.h"

#include <optional>
#include <string>
#include <system_error>

namespace convt_jit {

class Root {
public:
    // The directory itself may be reached through links: that is the user's own choice. `declared`: see trust.h.
    [[nodiscard]] static std::optional<Root> open(const std::string& path, bool declared, std::error_code& error);
    // Made (0700) where there is none.
    [[nodiscard]] static std::optional<Root> make(const std::string& path, bool declared, std::error_code& error);

    // As it was opened, for messages.
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] int get() const noexcept { return directory_.get(); }
    [[nodiscard]] const FileDescriptor& directory() const noexcept { return directory_; }
    // Permissions of files in it: a private cache stays private, a shared one can be shared.
    [[nodiscard]] mode_t file_mode() const noexcept { return mode_ & 0666; }

    // `error` tells a link from what else is no folder.
    [[nodiscard]] FileDescriptor folder(const std::string& name, std::error_code& error) const;
    [[nodiscard]] FileDescriptor make_folder(const std::string& name, std::error_code& error) const;
    // A regular file for reading, in a folder of this root (or in the root itself).
    [[nodiscard]] FileDescriptor file(const FileDescriptor& folder, const std::string& name,
                                      std::error_code& error) const;
    // A small file of the cache's own for reading and writing, made where there is none, and anew where it cannot be
    // used.
    [[nodiscard]] FileDescriptor own_file(const char* name, std::error_code& error) const;

private:
    Root(std::string path, FileDescriptor directory, mode_t mode, bool declared) noexcept
        : path_(std::move(path)), directory_(std::move(directory)), mode_(mode), declared_(declared) {}
    static std::optional<Root> checked(const std::string& path, FileDescriptor directory, bool declared,
                                       std::error_code& error);
    [[nodiscard]] FileDescriptor checked(FileDescriptor opened, std::error_code& error) const;
    [[nodiscard]] FileDescriptor open_folder(const std::string& name, std::error_code& error) const;

    std::string path_;
    FileDescriptor directory_;
    mode_t mode_;
    bool declared_;
};

}  // namespace convt_jit
