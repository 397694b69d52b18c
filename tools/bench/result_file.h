// ResultFile: the figures of one `convt bench`, with where they come from.
#pragma once

#include "convt_jit/convt_jit.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace convt_jit::tools {

struct Result {
    NamedLayer named;
    KernelInfo info;
    std::string weights;  // what weights_text says
    double ms = 0;        // median
    double spread = 0;    // (third quartile - first quartile) / median
    double speed_of_light_ms = 0;
    Errors errors;
    std::string failure;  // empty: it was measured and is right
};

struct Environment {
    std::string card, driver, toolkit, commit, command;
    double copy_tb_per_s = 0;
    bool operations_counted = true;  // false: no rates are known for the card, the speed of light is that of its memory
};

[[nodiscard]] nlohmann::ordered_json to_json(const Environment& environment, const std::vector<Result>& results);
// An old file is replaced whole or not at all. Throws std::system_error.
void write_results(const std::string& path, const Environment& environment, const std::vector<Result>& results);
void print_results(const Environment& environment, const std::vector<Result>& results);

}  // namespace convt_jit::tools
