// ArchFilter: which entries the archs mean that somebody named. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

// Whether warming for one of `archs` could have made an entry that is compiled for `arch`: a kernel is compiled without
// the suffix that its plan has no use for, so "sm_90a" means entries of sm_90a and of sm_90, and "sm_90" those of
// sm_90. No archs are all.
[[nodiscard]] bool means(const std::vector<std::string>& archs, std::string_view arch) noexcept;

}  // namespace convt_jit
