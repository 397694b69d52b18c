// Link: a symbolic link in the place of something of the cache. None is followed: it may lead anywhere.
#pragma once

#include <system_error>

namespace convt_jit {

// Says what it is and what to do, where the file system says "Not a directory".
[[nodiscard]] std::error_code link_error() noexcept;
[[nodiscard]] bool is_link(const std::error_code& error) noexcept;

}  // namespace convt_jit
