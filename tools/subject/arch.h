// Arch: architectures as they are named on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convt_jit::tools {

// Whether some compiler knows it, "sm_90a". Of archs after those of today nobody can say, so they pass: the compiler
// that is there has the last word.
[[nodiscard]] bool is_known_arch(std::string_view text) noexcept;

// "sm_80,sm_90a": what stands between the commas, each once. Throws UsageError for what is no arch or none that a
// compiler knows.
[[nodiscard]] std::vector<std::string> parse_archs(const std::vector<std::string>& texts);

}  // namespace convt_jit::tools
