// Quarantine: damaged entries are set aside, not deleted: they may be what is left of a failing disk or memory.
#pragma once

#include "cache/root.h"

#include <cstddef>
#include <string>
#include <system_error>

namespace convt_jit {

inline constexpr std::size_t kQuarantined = 16;  // the newest are kept

// What came of it. Neither where a sound entry took its place in the meantime.
struct Aside {
    bool moved = false;
    std::error_code error;  // why it could not be moved
};
// Moves `name`, which `read` was opened from, out of `folder`.
Aside set_aside(const Root& root, const FileDescriptor& folder, const std::string& name, const FileDescriptor& read);
// The same where it could not even be opened as a file (a link, a folder).
Aside set_aside(const Root& root, const FileDescriptor& folder, const std::string& name);

}  // namespace convt_jit
