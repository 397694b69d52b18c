// Layout: the names inside a cache directory. Everything that is no fan-out folder is small, and may be deleted at any
// time: it is made again when needed.
#pragma once

#include "cache/key.h"

#include <string>
#include <string_view>

namespace convt_jit::layout {

inline constexpr const char* kQuarantine = "quarantine";   // damaged entries, set aside
inline constexpr const char* kProducers = "producers";     // an empty file per compiler version that filled the cache
inline constexpr const char* kCompilers = "compilers";     // which version a compiler's file has
inline constexpr const char* kHolders = "holders";         // a file per live process: the keys that it uses
inline constexpr const char* kLock = "lock";               // one byte range per key
inline constexpr const char* kClock = "clock";             // its mtime is the highest stamp given so far
inline constexpr const char* kUsage = "usage";             // bytes kept, a running estimate
inline constexpr const char* kManifest = "manifest.json";  // where an export was unpacked
inline constexpr std::string_view kSuffix = ".cubin";

// Whether it is one of those names.
[[nodiscard]] inline bool is_own(std::string_view name) {
    for (const char* own : {kQuarantine, kProducers, kCompilers, kHolders, kLock, kClock, kUsage, kManifest})
        if (name == own) return true;
    return false;
}
// ... and that of a folder.
[[nodiscard]] inline bool is_own_folder(std::string_view name) {
    return name == kQuarantine || name == kProducers || name == kCompilers || name == kHolders;
}
// "0f" for "0f3a..."
[[nodiscard]] inline std::string fan_out(const std::string& key) { return key.substr(0, 2); }
[[nodiscard]] inline std::string entry_name(const std::string& key) { return key + std::string(kSuffix); }
// The key of an entry's file name; empty where it is none.
[[nodiscard]] inline std::string key_of(std::string_view name) {
    if (!name.ends_with(kSuffix)) return {};
    name.remove_suffix(kSuffix.size());
    return is_digest(name) ? std::string(name) : std::string();
}
[[nodiscard]] inline bool is_fan_out(std::string_view name) {
    return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace convt_jit::layout
