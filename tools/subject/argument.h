// Argument: what the text of an option must be.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>

namespace convt_jit::tools {

// For transform(): a decimal number, where CLI11 alone takes -1 and 2^64 as the largest and 010 as eight.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t low, std::uint64_t high);

// A decimal number, where CLI11 alone takes nan and 1e300.
[[nodiscard]] CLI::Validator number(double low, double high);

// An option that is given as "", most often from a variable that is not set, is no option that was left out.
[[nodiscard]] CLI::Validator not_empty();

}  // namespace convt_jit::tools
