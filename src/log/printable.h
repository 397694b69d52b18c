// Printable: text of a user for a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace convt_jit {

// Plain ASCII, what is none as \x1b, and cut where it is longer than a line has room for.
[[nodiscard]] std::string printable(std::string_view text, std::size_t longest = 60);

}  // namespace convt_jit
