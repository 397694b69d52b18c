// convt autotune: the fastest plan of a layer on this card, among those that are right.
#pragma once

#include <CLI/CLI.hpp>

namespace convt_jit::tools {

void add_autotune(CLI::App& app, int& status);

}  // namespace convt_jit::tools
