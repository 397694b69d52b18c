// Arch: a GPU architecture as the compiler names it, "sm_90a".
#pragma once

#include <string>
#include <string_view>

namespace convt_jit {

struct Arch {
    int number = 0;   // 75, 90, 120
    char suffix = 0;  // 'a', 'f' or none
    friend auto operator<=>(const Arch&, const Arch&) = default;
};

// "sm_90a", also "90a". Throws LayerError("arch", ...) for anything else.
[[nodiscard]] Arch parse_arch(std::string_view text);
[[nodiscard]] std::string to_string(const Arch& arch);

}  // namespace convt_jit
