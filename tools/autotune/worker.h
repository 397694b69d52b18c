// Worker: the processes that compile and measure for `convt autotune`. What they do cannot be cancelled where it hangs,
// and what a kernel breaks is broken for its whole process: they can be killed.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace convt_jit::tools {

// What starts one, after the program's name. `surface`: file of a made-up card; empty: the GPU.
[[nodiscard]] std::vector<std::string> tune_worker_arguments(bool pack_each_time, bool plain_launches,
                                                             const std::string& surface);

// Adds the subcommand that one runs; --help does not show it. It reads requests until there are no more.
void add_tune_worker(CLI::App& app, int& status);

}  // namespace convt_jit::tools
