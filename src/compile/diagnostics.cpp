#include "compile/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>

namespace convt_jit {
namespace {

constexpr std::size_t kShownErrors = 5;

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

// "direct.cu(12): error: ...", "error #20: ...", "catastrophic error: ...", "Command-line error: ...", "ptxas fatal :
// ..." but not "2 errors detected in the compilation of ...".
bool reports_error(const std::string& line) {
    for (const char* mark : {"error:", "error #", "fatal"})
        if (line.find(mark) != std::string::npos) return true;
    return false;
}

}  // namespace

std::vector<std::string> error_lines(std::string_view log) {
    std::vector<std::string> lines = lines_of(log);
    std::erase_if(lines, [](const std::string& line) { return !reports_error(line); });
    return lines;
}

std::string describe(const FailedCompile& failure) {
    const CompileError::Details& details = failure.details;
    std::string text =
        fmt::format("{} cannot compile {} for {} ({})", failure.compiler, failure.entry, details.arch, failure.result);
    std::vector<std::string> errors = error_lines(details.log);
    // A log without a line that we recognise is still the best that there is.
    if (errors.empty()) {
        errors = lines_of(details.log);
        std::erase_if(errors, [](const std::string& line) { return line.find_first_not_of(" \t\r") == line.npos; });
    }
    for (std::size_t i = 0; i < std::min(errors.size(), kShownErrors); ++i) text += "\n  " + errors[i];
    if (errors.size() > kShownErrors) text += fmt::format("\n  and {} more", errors.size() - kShownErrors);
    if (failure.result == "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE")
        text += "\nIs libnvrtc-builtins, of the same version, beside libnvrtc?";
    if (!details.constants.empty()) text += "\nconstants: " + details.constants;
    text += "\noptions: " + details.options;
    text += "\nsource: " + (details.source_path.empty() ? "(could not be written)" : details.source_path);
    return text;
}

std::string banner_version(std::string_view ptx) {
    constexpr std::string_view kBanner = "Cuda compilation tools, release ";
    std::size_t at = ptx.find(kBanner);
    if (at == ptx.npos) return "";
    ptx = ptx.substr(at + kBanner.size());
    ptx = ptx.substr(0, ptx.find('\n'));
    at = ptx.find(", V");
    if (at == ptx.npos) return "";
    ptx = ptx.substr(at + 3);
    return std::string(ptx.substr(0, ptx.find_first_not_of("0123456789.")));
}

}  // namespace convt_jit
