// Destination: the file that an export makes or replaces.
#pragma once

#include "cache/file.h"

#include <sys/types.h>

#include <optional>
#include <string>

namespace convt_jit {

struct Destination {
    FileDescriptor folder;
    std::string name;            // in it
    std::optional<mode_t> mode;  // of the file that is replaced
};

// Where the links end that `file` may be: they stay, and what they name is replaced, or made where it is not there yet.
// Throws CacheError where that is no regular file, or the name of an open one (as /dev/stdout is): whoever has it open
// would see nothing of a new one.
[[nodiscard]] Destination destination_of(const std::string& file);

}  // namespace convt_jit
