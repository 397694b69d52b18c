// RecordFile: records on disk. A reader sees the old file or the new one, never half of one; two writers take turns.
#pragma once

#include "tune/record_text.h"

#include <string>
#include <vector>

namespace convt_jit {

// Whether a file is believed that somebody else could have written: an engine asks for its own account, a tool for whom
// it was told to.
enum class Belief { trusted_only, any };

// Throws TuningError, also where there is none.
[[nodiscard]] RecordText load_records(const std::string& file, Belief belief);

// The file itself; all *.json files of a directory, by name; none where there is nothing of that name. Throws
// TuningError.
[[nodiscard]] std::vector<std::string> record_files(const std::string& path);

// "nvidia_h100_80gb_hbm3-132.json"
[[nodiscard]] std::string record_file_name(const GpuModel& gpu);

}  // namespace convt_jit
