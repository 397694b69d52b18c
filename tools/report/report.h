// Report: the options of commands that write one, and the file.
#pragma once

#include "subject/apart.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace convt_jit::tools {

struct ReportChoice {
    std::string option = "--report", html, baseline;
    std::vector<std::string> from;

    // `name`: "--report" or "--html"; and --baseline FILE.
    void add_to(CLI::App& command, const std::string& name);
    // --from FILE..., for a report about what was measured before.
    void add_from(CLI::App& command);

    [[nodiscard]] bool from_files() const noexcept { return !from.empty(); }
    // Before long work: throws as the file could not be written, or where the baseline cannot be read.
    void expect_writable(std::vector<NamedFile> inputs) const;
    // About the results of this run; does nothing where no report was asked for. Throws Error, std::system_error.
    void write(const nlohmann::ordered_json& results) const;
    // About the files of --from together, whose card and command are those of the first.
    void write_from_files() const;
};

}  // namespace convt_jit::tools
