// Answer: what --json prints: one document for each command that got as far as to be carried out, also where it failed.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <string>
#include <vector>

namespace convt_jit::tools {

// On standard output; a name that is not UTF-8 does not stop it.
void print(const nlohmann::json& json);

// Carries out a command and returns its exit code. What it throws with exit code 1 is told in JSON, too, as
// {"error": ...}, and thrown on; bad usage (exit code 2) is text alone. `carry_out` prints its own answer last.
int answered(bool json, const std::function<int()>& carry_out);

// What went wrong, in one line; empty where nothing did.
[[nodiscard]] std::string joined(const std::vector<std::string>& troubles);

// The answer of a command that ends with exit code 1 says why; that of others has no such field.
void add_error(nlohmann::json& answer, const std::string& error);

}  // namespace convt_jit::tools
