// Quarantine: damaged entries are set aside, not deleted: they may be what is left of a failing disk or memory.
#pragma once

#include "cache/root.h"

#include <cstddef>
#include <string>

namespace convt_jit {

inline constexpr std::size_t kQuarantined = 16;  // the newest are kept

// Moves `name`, which `read` was opened from, out of `folder`. False where it could not be moved, or where a sound
// entry took its place in the meantime.
bool set_aside(const Root& root, const FileDescriptor& folder, const std::string& name, const FileDescriptor& read);
// The same where it could not even be opened as a file (a link, a folder).
bool set_aside(const Root& root, const FileDescriptor& folder, const std::string& name);

}  // namespace convt_jit
