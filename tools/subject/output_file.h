// OutputFile: a file that is there with all its content or not at all.
#pragma once

#include <string>
#include <string_view>

namespace convt_jit::tools {

// Writes beside `path` and renames; a symbolic link is followed, and what is no regular file (a pipe, /dev/stdout) is
// written to as it is: a pipe that nobody reads waits for its reader, so signals must not be blocked here. "-" is
// standard output. Throws std::system_error that names the path. A link to nothing makes what it names.
void write_file(const std::string& path, std::string_view content);

// Throws as write_file would where it cannot even begin, and leaves everything as it is: for use before long work.
void expect_writable(const std::string& path);

// The regular file that a write would make or replace, after all links; "" where it would be none. Throws
// std::system_error.
[[nodiscard]] std::string written_file(const std::string& path);

}  // namespace convt_jit::tools
