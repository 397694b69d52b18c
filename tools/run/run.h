// `convt run`: layers to checked results.
#pragma once

#include <CLI/CLI.hpp>

namespace convt_jit::tools {

// Adds the subcommand. It sets `status` to the exit code: 0 right, 1 wrong or failed. Bad usage is a LayerError.
void add_run(CLI::App& app, int& status);

}  // namespace convt_jit::tools
