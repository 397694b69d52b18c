// Identity: which file NVRTC is, told without opening it.
#pragma once

#include <cstdint>
#include <string>

namespace convt_jit {

struct FileIdentity {
    std::string path;  // links resolved; "" where there is no such file
    std::uint64_t bytes = 0, inode = 0;
    std::int64_t modified = 0;  // nanoseconds since 1970
    [[nodiscard]] bool exists() const noexcept { return !path.empty(); }
    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

[[nodiscard]] FileIdentity identity_of(const std::string& file);
// One line, another whenever the file is another.
[[nodiscard]] std::string to_string(const FileIdentity& identity);

// The file that Nvrtc::instance() would open first, by the same search. What it really opens may be another: a file
// that is no NVRTC is passed over.
[[nodiscard]] FileIdentity nvrtc_identity();

}  // namespace convt_jit
