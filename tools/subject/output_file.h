// OutputFile: a file that is there with all its content or not at all.
#pragma once

#include <string>
#include <string_view>

namespace convt_jit::tools {

// Writes beside `path` and renames; a symbolic link is followed, and what is no regular file (a pipe, /dev/stdout) is
// written to as it is. "-" is standard output. Throws std::system_error that names the path.
void write_file(const std::string& path, std::string_view content);

}  // namespace convt_jit::tools
