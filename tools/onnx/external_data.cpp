#include "onnx/external_data.h"

#include "convt_jit/error.h"
#include "onnx/descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <vector>

namespace convt_jit::onnx_import {
namespace {

constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

std::string error_text() { return std::generic_category().message(errno); }

// Step by step, no link followed: for systems without openat2.
Descriptor open_without_links(const Descriptor& folder, const std::string& location) {
    Descriptor at(dup(folder.get()));
    const std::filesystem::path path(location);
    for (auto part = path.begin(); part != path.end() && at.is_open(); ++part) {
        const bool last = std::next(part) == path.end();
        at = Descriptor(openat(at.get(), part->c_str(), kFlags | O_NOFOLLOW | (last ? 0 : O_DIRECTORY)));
    }
    return at;
}

Descriptor open_beneath(const Descriptor& folder, const std::string& location) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(kFlags);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    Descriptor file(static_cast<int>(syscall(SYS_openat2, folder.get(), location.c_str(), &how, sizeof how)));
    if (!file.is_open() && (errno == ENOSYS || errno == EPERM)) return open_without_links(folder, location);
    return file;
}

// Names the file, and what of it was wanted.
[[noreturn]] void fail(const std::string& path, std::uint64_t offset, std::uint64_t bytes, const std::string& value,
                       const std::string& allowed) {
    throw LayerError(fmt::format("external data {} (offset {}, length {})", path, offset, bytes), value, allowed);
}

Descriptor open_data(const std::string& folder, const std::string& location, std::uint64_t offset,
                     std::uint64_t bytes) {
    check_location(location);
    const std::string path = (std::filesystem::path(folder) / location).string();
    const Descriptor directory(open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    if (!directory.is_open())
        fail(path, offset, bytes, "in a folder that cannot be opened: " + error_text(), "a folder");
    Descriptor file = open_beneath(directory, location);
    if (!file.is_open() && (errno == EXDEV || errno == ELOOP))
        fail(path, offset, bytes, "reached by a link that leaves the model's folder", "a file in that folder");
    if (!file.is_open()) fail(path, offset, bytes, "not readable: " + error_text(), "a file that can be read");
    struct stat about {};
    if (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
        fail(path, offset, bytes, "no file", "a regular file");
    const auto size = static_cast<std::uint64_t>(about.st_size);
    if (offset > size || bytes > size - offset)
        fail(path, offset, bytes, fmt::format("{} bytes long", size), "offset and length within the file");
    return file;
}

// A message ends at a NUL.
std::string shown(std::string text) {
    for (std::size_t at = 0; (at = text.find('\0', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\0");
    return text;
}

}  // namespace

void check_location(const std::string& location) {
    const std::filesystem::path path(location);
    const bool has_nul = location.find('\0') != std::string::npos;
    const bool climbs = std::any_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
    if (location.empty() || has_nul || climbs || path.is_absolute() || !path.has_filename())
        throw LayerError("external_data.location", fmt::format("\"{}\"", shown(location.substr(0, 200))),
                         "a file in the model's folder, by a relative path without \"..\"");
}

std::string ExternalData::read(const std::string& location, std::uint64_t offset, std::uint64_t bytes) const {
    const Descriptor file = open_data(folder_, location, offset, bytes);
    std::string data(bytes, '\0');
    std::uint64_t done = 0;
    while (done < bytes) {
        const ssize_t got = pread(file.get(), data.data() + done, bytes - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            fail((std::filesystem::path(folder_) / location).string(), offset, bytes,
                 got < 0 ? "not readable: " + error_text() : "cut off while it is read", "a file that can be read");
        done += static_cast<std::uint64_t>(got);
    }
    return data;
}

std::string ExternalData::trouble(const std::string& location, std::uint64_t offset, std::uint64_t bytes) const {
    try {
        (void)open_data(folder_, location, offset, bytes);
    } catch (const LayerError& error) {
        return error.what();
    }
    return {};
}

}  // namespace convt_jit::onnx_import
