#include "plan/arch.h"

#include "convt_jit/error.h"

#include <charconv>

namespace convt_jit {
namespace {

// Two digits since compute capability 1.0; none has four.
constexpr int kLowest = 10, kHighest = 999;

}  // namespace

Arch parse_arch(std::string_view text) {
    std::string_view rest = text;
    if (rest.starts_with("sm_")) rest.remove_prefix(3);
    Arch arch;
    const auto [end, trouble] = std::from_chars(rest.data(), rest.data() + rest.size(), arch.number);
    const auto digits = static_cast<std::size_t>(end - rest.data());
    rest.remove_prefix(digits);
    if (rest == "a" || rest == "f") {
        arch.suffix = rest.front();
        rest = {};
    }
    // Two or three digits also rule out signs and leading zeros.
    const bool valid = trouble == std::errc{} && rest.empty() && arch.number >= kLowest && arch.number <= kHighest &&
                       digits == std::to_string(arch.number).size();
    if (!valid)
        throw LayerError("arch", '"' + std::string(text) + '"',
                         "a compute capability as sm_75, sm_90 or sm_120, optionally with suffix a or f, as sm_90a");
    return arch;
}

std::string to_string(const Arch& arch) {
    std::string text = "sm_" + std::to_string(arch.number);
    if (arch.suffix != 0) text += arch.suffix;
    return text;
}

}  // namespace convt_jit
