// Home: what the environment says about this user's directories.
#pragma once

#include <string>

namespace convt_jit {

// An empty variable counts as unset. A program that runs with more rights than its caller is not steered by the
// caller's environment.
[[nodiscard]] std::string variable(const char* name);

// The XDG base directory specification: a relative path is invalid and ignored.
[[nodiscard]] bool is_absolute(const std::string& path);

// Of $HOME or, without it, of the passwd entry; "" where there is none.
[[nodiscard]] std::string home_directory();

}  // namespace convt_jit
