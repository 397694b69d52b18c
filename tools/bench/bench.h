// `convt bench`: how fast layers run, against the speed of light.
#pragma once

#include <CLI/CLI.hpp>

namespace convt_jit::tools {

void add_bench(CLI::App& app, int& status);

}  // namespace convt_jit::tools
