#include "report/report.h"

#include "report/page.h"
#include "subject/argument.h"
#include "subject/output_file.h"
#include "subject/usage_error.h"

#include <fmt/format.h>

#include <fstream>

namespace convt_jit::tools {
namespace {

nlohmann::ordered_json read_json(const std::string& option, const std::string& path) {
    std::ifstream file(path);
    if (!file) throw UsageError(fmt::format("{}: {} cannot be read", option, path));
    try {
        return nlohmann::ordered_json::parse(file);
    } catch (const nlohmann::json::exception& error) {
        throw Error(fmt::format("{}: {}: {}", option, path, error.what()));
    }
}

}  // namespace

void ReportChoice::add_to(CLI::App& command, const std::string& name) {
    option = name;
    command.add_option(name, html, "write a page about the results there, HTML that needs no network")
        ->type_name("FILE")
        ->check(not_empty());
    command
        .add_option("--baseline", baseline, "compare with this file of `bench/compare_torch.py measure` in the report")
        ->type_name("FILE")
        ->check(not_empty());
}

void ReportChoice::add_from(CLI::App& command) {
    command
        .add_option("--from", from,
                    "measure nothing: the report is about these files of --json, of autotune or bench, of one card")
        ->delimiter(',')
        ->type_name("FILE")
        ->check(not_empty());
}

void ReportChoice::expect_writable(std::vector<NamedFile> inputs) const {
    if (html.empty()) return;
    inputs.push_back({"--baseline", baseline});
    for (const std::string& file : from) inputs.push_back({"--from", file});
    expect_apart({option.c_str(), html}, inputs);
    tools::expect_writable(html);
    if (!baseline.empty()) (void)read_json("--baseline", baseline);
}

void ReportChoice::write(const nlohmann::ordered_json& results) const {
    if (html.empty()) return;
    ReportData data = read_report_data(results);
    if (!baseline.empty()) add_baseline(data, read_json("--baseline", baseline));
    write_file(html, report_page(data));
}

void ReportChoice::write_from_files() const {
    if (html.empty()) throw UsageError(fmt::format("--from: {} FILE is missing, the page to be written", option));
    expect_writable({});
    nlohmann::ordered_json all;
    for (const std::string& path : from) {
        nlohmann::ordered_json file = read_json("--from", path);
        try {
            (void)read_report_data(file);
        } catch (const std::exception& error) {
            throw Error(fmt::format("--from: {}: {}", path, error.what()));
        }
        if (all.is_null()) {
            all = std::move(file);
            continue;
        }
        for (auto& row : file["results"]) all["results"].push_back(std::move(row));
    }
    write(all);
}

}  // namespace convt_jit::tools
