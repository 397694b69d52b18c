// `convt warmup`: layers to machine code in the cache, before anybody needs it.
#pragma once

#include <CLI/CLI.hpp>

namespace convt_jit::tools {

// Adds the subcommand. It sets `status` to the exit code: 0 all is in the cache, 1 something is missing or failed, 130
// or 143 after SIGINT or SIGTERM. Bad usage is a UsageError or a LayerError.
void add_warmup(CLI::App& app, int& status);

}  // namespace convt_jit::tools
