// Key: what a cubin depends on, and nothing else: no time, path, user or host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

// Version of the entry format and of the meaning of the fields below.
inline constexpr int kCacheFormat = 1;

struct KeyFields {
    std::string source_digest;  // digest of the rendered source
    std::string options;        // compile options, separated by blanks
    std::string arch;           // with suffix
    std::string producer;       // "nvrtc 13.0.88"; the version policy on lookup decides how it is compared
    int format = kCacheFormat;
    friend bool operator==(const KeyFields&, const KeyFields&) = default;
};

// 32 hex digits (XXH3-128).
[[nodiscard]] std::string digest(std::string_view bytes);
// Over all fields, each with its length, so that no two lists of fields run together.
[[nodiscard]] std::string digest(const KeyFields& fields);

inline constexpr std::size_t kDigestLength = 32;
// Guards file names: whatever is no digest never becomes part of a path.
[[nodiscard]] bool is_digest(std::string_view text) noexcept;

}  // namespace convt_jit
