#include "autotune/merge.h"

#include "convt_jit/tuning.h"
#include "subject/apart.h"
#include "subject/message.h"
#include "subject/usage_error.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

namespace convt_jit::tools {
namespace {

std::string told(const std::string& file, const std::vector<TuningRecord>& records) {
    std::set<GpuModel> gpus;
    std::size_t findings = 0;
    for (const TuningRecord& record : records) {
        gpus.insert(record.gpu);
        findings += record.evidence.size();
    }
    return fmt::format("{}: {} records of {} GPU models, from {} findings", shown_in_line(file), records.size(),
                       gpus.size(), findings);
}

}  // namespace

int merge(const std::vector<std::string>& inputs, const std::string& records) {
    const std::string to = records.empty() ? user_records_path() : records;
    if (to.empty())
        throw UsageError("--records: name where to; there is no home directory, or CONVT_JIT_RECORDS is off");
    std::error_code ignored;
    if (!std::filesystem::is_directory(to, ignored)) expect_apart({"--records", to}, {});
    std::vector<TuningSkipped> skipped;
    std::vector<TuningRecord> all;
    for (const std::string& input : inputs) {  // all of them before anything is written
        if (!std::filesystem::exists(input, ignored)) throw UsageError(fmt::format("--merge: {} is not there", input));
        all = merge_records(all, read_records(input, &skipped));
    }
    for (const TuningSkipped& left_out : skipped)
        complain(shown_in_line(fmt::format("left out: {}: {}", left_out.where, left_out.why)));
    for (const std::string& file : update_records(to, all)) fmt::print("{}\n", told(file, read_records(file)));
    finish_output();
    return skipped.empty() ? 0 : 1;
}

}  // namespace convt_jit::tools
