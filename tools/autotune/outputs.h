// Outputs: the files that `convt autotune` is to write.
#pragma once

#include "autotune/options.h"
#include "subject/apart.h"

namespace convt_jit::tools {

// Before long work: throws UsageError where one would take the place of another one, of what is read, or of anybody's
// records, or is no journal though it is to be one; std::system_error, TuningError where one cannot be written.
void expect_outputs(const AutotuneOptions& options);

// Whether writing to `file` would take the place of records at `records`, a file or a directory (docs/tuning.md).
[[nodiscard]] bool takes_records(const std::string& file, const std::string& records);

// Throws UsageError where `output` would, of those at `records` or of the user's.
void spare_records(const NamedFile& output, const std::string& records);

}  // namespace convt_jit::tools
