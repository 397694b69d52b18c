// OutputFile: a file that is there with all its content or not at all.
#pragma once

#include <string>
#include <string_view>

namespace convt_jit::tools {

// Writes beside `path` and renames; a symbolic link is followed, and what is no regular file (a pipe, /dev/stdout) is
// written to as it is. "-" is standard output. Throws std::system_error that names the path.
// A link to nothing makes what it names.
void write_file(const std::string& path, std::string_view content);

// Throws as write_file would where it cannot even begin, and leaves everything as it is: for use before long work.
void expect_writable(const std::string& path);

}  // namespace convt_jit::tools
