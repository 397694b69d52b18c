#include "autotune/options.h"

#include "convt_jit/tuning.h"
#include "subject/argument.h"
#include "subject/output_file.h"

namespace convt_jit::tools {

void AutotuneOptions::add_to(CLI::App& command) {
    layers.add_to(command);
    command.add_option("--budget", budget, "time for each layer")
        ->type_name("TIME")
        ->check(not_empty())
        ->capture_default_str();
    command.add_flag("--exhaustive", exhaustive, "measure every candidate, however long it takes");
    command
        .add_option("--families", families, "of these families only: direct,unrolled,implicit_gemm,implicit_gemm_sm90")
        ->delimiter(',')
        ->type_name("A,B")
        ->check(not_empty())
        ->check(CLI::IsMember({"direct", "unrolled", "implicit_gemm", "implicit_gemm_sm90"}));
    command.add_option("--candidates", most, "of each family, best modelled first")
        ->transform(whole_number(1, 1'000'000))
        ->capture_default_str();
    command.add_option("--plans", plans, "try the plans of this file, one per line, before the others")
        ->type_name("FILE")
        ->check(not_empty());
    command.add_option("--dtype", dtype, "instead of the layers' own")
        ->check(not_empty())
        ->check(CLI::IsMember({"f32", "tf32", "f16", "bf16"}));
    command.add_flag("--pack-each-time", pack_each_time,
                     "as in training: kernels that pack their weights do so at each launch, not once before");
    command.add_flag("--plain-launches", plain_launches, "time launches one by one, not replays of CUDA graphs");
    command.add_option("--jobs", jobs, "compilers at a time; default: one per processor")
        ->transform(whole_number(1, 4096));
    command.add_option("--patience", patience, "seconds after which a candidate hangs, and is killed")
        ->check(number(0.001, 86400))
        ->capture_default_str();
    command.add_option("--cache", cache, "where the winners are kept; default: where an engine would")
        ->type_name("DIR");
    command.add_option("--json", json, "write all that was measured there")->type_name("FILE")->check(not_empty());
    command
        .add_option("--journal", journal,
                    "keep each measurement there, and go on from it; default: FILE of --json with .journal")
        ->type_name("FILE")
        ->check(not_empty());
    report.add_to(command, "--report");
    report.add_from(command);
    command.add_option("--surface", surface)->group("");
    command.add_option("--merge", merge, "tune nothing: add the records of these files and directories")
        ->type_name("FILE...")
        ->expected(1, CLI::detail::expected_max_vector_size)
        ->check(not_empty());
    command
        .add_option("--records", records,
                    "where records of winners go, or with --merge all of them; default: the user's (docs/tuning.md)")
        ->type_name("FILE|DIR")
        ->check(not_empty());
}

std::string journal_of(const AutotuneOptions& options) {
    if (!options.journal.empty()) return options.journal;
    if (options.json.empty() || written_file(options.json).empty()) return {};
    return options.json + ".journal";
}

std::string records_path(const AutotuneOptions& options) {
    if (!options.records.empty()) return options.records;
    return options.surface.empty() ? user_records_path() : std::string();
}

}  // namespace convt_jit::tools
