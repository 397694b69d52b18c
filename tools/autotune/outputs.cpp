#include "autotune/outputs.h"

#include "autotune/journal.h"
#include "convt_jit/tuning.h"
#include "subject/apart.h"
#include "subject/output_file.h"
#include "subject/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace convt_jit::tools {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return true;
    return !fs::exists(path, ignored) && fs::path(path).extension() != ".json";
}

// A file of records, or one that is kept beside it as it could not be read.
bool is_record_name(const std::string& name) {
    return name.ends_with(".json") || name.find(".json.aside") != std::string::npos;
}

// What a write would replace; empty where it would be no regular file, or could not be made.
fs::path replaced(const std::string& path) {
    try {
        return written_file(path);
    } catch (const std::system_error&) {
        return {};  // whoever writes there says what is wrong
    }
}

}  // namespace

bool takes_records(const std::string& file, const std::string& records) {
    if (file.empty() || records.empty()) return false;
    if (same_output(file, records)) return true;
    std::error_code error;
    const auto whole = [&](const fs::path& path) { return fs::weakly_canonical(fs::absolute(path, error), error); };
    if (!is_folder(records)) return false;
    // The name, and what it leads to.
    for (const fs::path& path : {fs::path(file), replaced(file)})
        if (is_record_name(path.filename().string()) && whole(path).parent_path() == whole(records)) return true;
    const fs::directory_iterator entries(records, error);
    return std::any_of(fs::begin(entries), fs::end(entries), [&](const fs::directory_entry& entry) {
        return is_record_name(entry.path().filename().string()) && same_output(file, entry.path().string());
    });
}

void spare_records(const NamedFile& output, const std::string& records) {
    for (const std::string& kept : {records, user_records_path()})
        if (takes_records(output.second, kept))
            throw UsageError(
                fmt::format("{}: \"{}\" would take the place of the tuning records at {}; allowed: another file",
                            output.first, output.second, kept));
}

void expect_outputs(const AutotuneOptions& options) {
    const std::string records = records_path(options);
    const std::vector<NamedFile> inputs = {{"--layers", options.layers.file},
                                           {"--plans", options.plans},
                                           {"--surface", options.surface},
                                           {"--baseline", options.report.baseline}};
    const std::vector<NamedFile> outputs = {
        {"--json", options.json}, {"--journal", journal_of(options)}, {options.report.option, options.report.html}};
    for (const NamedFile& output : outputs) {
        if (output.second.empty()) continue;
        expect_apart(output, inputs);
        spare_records(output, records);
    }
    expect_distinct(outputs);
    if (const std::string journal = journal_of(options); !journal.empty()) expect_journal(journal);
    if (!options.records.empty() && !is_folder(options.records)) expect_apart({"--records", options.records}, inputs);
    if (!options.json.empty()) expect_writable(options.json);
    options.report.expect_writable(inputs);
    if (!records.empty()) expect_updatable(records);
}

}  // namespace convt_jit::tools
