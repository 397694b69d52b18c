#include "cache/arch_filter.h"

#include <algorithm>

namespace convt_jit {
namespace {

std::string_view without_suffix(std::string_view arch) noexcept {
    if (arch.ends_with('a') || arch.ends_with('f')) arch.remove_suffix(1);
    return arch;
}

}  // namespace

bool means(const std::vector<std::string>& archs, std::string_view arch) noexcept {
    return archs.empty() || std::any_of(archs.begin(), archs.end(), [&](std::string_view named) {
               return named == arch || without_suffix(named) == arch;
           });
}

}  // namespace convt_jit
