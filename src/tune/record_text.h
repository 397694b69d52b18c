// RecordText: records as a JSON document and back (docs/tuning.md has the format). Pure functions.
#pragma once

#include "convt_jit/tuning.h"

#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

inline constexpr int kRecordsFormat = 1;

struct RecordText {
    std::vector<TuningRecord> records;   // each key once, in their order
    std::vector<TuningSkipped> skipped;  // what has a wrong field; `where` begins with `name`
};

// No JSON (cut, nested too deeply), or none of records.
class DamagedRecords : public TuningError {
public:
    using TuningError::TuningError;
};

// Throws DamagedRecords, and TuningError for a newer format, which may be sound.
[[nodiscard]] RecordText parse_records(std::string_view text, const std::string& name);

}  // namespace convt_jit
