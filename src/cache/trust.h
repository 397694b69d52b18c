// Trust: a cubin is code that will run. One that somebody else could have written is not loaded.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <system_error>

namespace convt_jit {

enum class Distrust { foreign_owner = 1, group_writable, world_writable };

[[nodiscard]] std::error_code make_error_code(Distrust reason) noexcept;

// Nothing is wrong with what `user` or root owns and nobody else can write. In a directory that was declared trusted
// everything passes.
[[nodiscard]] std::error_code distrust(const struct stat& status, uid_t user, bool declared) noexcept;

[[nodiscard]] bool is_distrust(const std::error_code& error) noexcept;

}  // namespace convt_jit

template <>
struct std::is_error_code_enum<convt_jit::Distrust> : std::true_type {};
