// `convt cache`: what is kept on disk, looked at and looked after. Needs no GPU, no driver and no compiler.
#pragma once

#include <CLI/CLI.hpp>

namespace convt_jit::tools {

// Adds the subcommand with its own subcommands. `status` is set to the exit code: 0 right, 1 damaged or failed. Bad
// usage is a UsageError or a LayerError.
void add_cache(CLI::App& app, int& status);

}  // namespace convt_jit::tools
