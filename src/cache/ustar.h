// Ustar: the plain tar format of POSIX, as far as a cache needs it: regular files with short names.
#pragma once

#include "cache/file.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace convt_jit {

struct TarMember {
    std::string name;
    std::string bytes;
};

inline constexpr std::size_t kMaxTarName = 100;

// Header, bytes and padding. The name has at most kMaxTarName bytes. Owner, time and mode are the same for all, so that
// the same members give the same archive.
[[nodiscard]] std::string tar_member(const std::string& name, std::string_view bytes);
// What stands after the last member.
[[nodiscard]] std::string tar_end();

// Reads members in their order. Whatever is no regular file, and every extension of the format, is refused: an archive
// that holds such a thing was not made by us. Whole empty blocks may follow its end: tar fills its last record so.
class TarReader {
public:
    explicit TarReader(const FileDescriptor& file) noexcept : file_(file) {}
    // Nothing at the end, or where something is wrong: `why` then says what. Members above `limit` bytes are refused.
    [[nodiscard]] std::optional<TarMember> next(std::size_t limit, std::string& why);

private:
    [[nodiscard]] std::string read(std::size_t count);

    const FileDescriptor& file_;
    std::int64_t offset_ = 0;
};

}  // namespace convt_jit
