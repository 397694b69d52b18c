#include "subject/arch.h"

#include "subject/usage_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace convt_jit::tools {
namespace {

// All that an NVRTC has compiled for, up to that of CUDA 13.
constexpr std::array kKnown = {20, 21, 30, 32, 35, 37, 50, 52,  53,  60,  61,  62,  70, 72,
                               75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
constexpr int kFirstSpecific = 90, kFirstFamily = 100;  // that have a suffix a, and f

struct Name {
    int number = 0;
    char suffix = 0;
};

// Nothing where it is none; number 0.
Name read(std::string_view text) noexcept {
    if (!text.starts_with("sm_")) return {};
    text.remove_prefix(3);
    Name name;
    if (!text.empty() && (text.back() == 'a' || text.back() == 'f')) {
        name.suffix = text.back();
        text.remove_suffix(1);
    }
    if (text.size() < 2 || text.size() > 3 || text.front() == '0') return {};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), name.number);
    return error == std::errc() && end == text.data() + text.size() && name.number > 0 ? name : Name{};
}

}  // namespace

bool is_known_arch(std::string_view text) noexcept {
    const Name name = read(text);
    if (name.number == 0) return false;
    if (name.suffix == 'a' && name.number < kFirstSpecific) return false;
    if (name.suffix == 'f' && name.number < kFirstFamily) return false;
    return name.number > kKnown.back() || std::find(kKnown.begin(), kKnown.end(), name.number) != kKnown.end();
}

std::vector<std::string> parse_archs(const std::vector<std::string>& texts) {
    std::vector<std::string> archs;
    for (const std::string& text : texts)
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find(',', begin), text.size());
            std::string arch = text.substr(begin, end - begin);
            if (read(arch).number == 0)
                throw UsageError(fmt::format("--arch: \"{}\" is no arch; allowed: such as sm_80,sm_90a", arch));
            if (!is_known_arch(arch))
                throw UsageError(
                    fmt::format("--arch: no compiler knows {}; allowed: sm_{} and later ones, with suffix a from sm_{} "
                                "on and with suffix f from sm_{} on",
                                arch, fmt::join(kKnown, ", sm_"), kFirstSpecific, kFirstFamily));
            if (std::find(archs.begin(), archs.end(), arch) == archs.end()) archs.push_back(std::move(arch));
            begin = end + 1;
        }
    return archs;
}

}  // namespace convt_jit::tools
