// Merge: the records of several machines in one place.
#pragma once

#include <string>
#include <vector>

namespace convt_jit::tools {

// Adds the records of files and directories to those at `records` ("": the user's). Returns the exit code: 1 where some
// could not be read and were left out. Throws TuningError; UsageError where there is no such file.
[[nodiscard]] int merge(const std::vector<std::string>& inputs, const std::string& records);

}  // namespace convt_jit::tools
