// Quarantine: damaged entries are set aside, not deleted: they may be what is left of a failing disk or memory.
#pragma once

#include "cache/root.h"

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <system_error>

namespace convt_jit {

inline constexpr std::size_t kQuarantined = 16;  // the newest are kept

// What came of it. Neither where another process was faster: what was seen is gone, or a new one has its place.
struct Aside {
    bool moved = false;
    std::error_code error;  // why it could not be moved
};
// Moves `name` out of `folder`, if it is still what was seen there.
Aside set_aside(const Root& root, const FileDescriptor& folder, const std::string& name, const struct stat& seen);

// Where something else has the place of the quarantine itself, nothing can be set aside: moves that into a new one.
Aside make_way_for_quarantine(const Root& root);

}  // namespace convt_jit
