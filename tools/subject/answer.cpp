#include "subject/answer.h"

#include "convt_jit/error.h"
#include "subject/json_text.h"
#include "subject/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cstdio>

namespace convt_jit::tools {

void print(const nlohmann::json& json) { fmt::print("{}\n", json_text(json, 2)); }

int answered(bool json, const std::function<int()>& carry_out) try { return carry_out(); } catch (const UsageError&) {
    throw;
} catch (const LayerError&) {
    throw;
} catch (const std::exception& error) {
    // Where standard output is what failed, part of an answer may stand there.
    if (json && std::ferror(stdout) == 0) {
        print({{"error", error.what()}});
        std::fflush(stdout);
    }
    throw;
}

std::string joined(const std::vector<std::string>& troubles) { return fmt::format("{}", fmt::join(troubles, "; ")); }

void add_error(nlohmann::json& answer, const std::string& error) {
    if (!error.empty()) answer["error"] = error;
}

}  // namespace convt_jit::tools
