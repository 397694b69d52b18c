// Dump: a source that did not compile, kept for a person to look at.
#pragma once

#include "render/render.h"

#include <string>

namespace convt_jit {

// Writes a new file, readable by its owner only, into $CONVT_JIT_DUMP_DIR, else the directory for temporary files.
// The file's path; "" where it could not be written whole. Never throws for that.
[[nodiscard]] std::string dump(const Source& source);

}  // namespace convt_jit
