// Recognition: whether a directory is a cache, as far as the names in it tell.
#pragma once

#include "cache/file.h"

namespace convt_jit {

// Whether anything in it has the name of something of a cache. What has nothing to be trimmed is left as it is: the
// directory may be any, named by mistake.
[[nodiscard]] bool may_be_cache(const FileDescriptor& directory);

// Whether it is taken for one that nothing else is to be written into: it has an entry, or at least two of the cache's
// own folders and files, for one name alone may mean anything.
[[nodiscard]] bool looks_like_cache(const FileDescriptor& directory);

}  // namespace convt_jit
