#include "log/printable.h"

#include <fmt/format.h>

namespace convt_jit {

std::string printable(std::string_view text, std::size_t longest) {
    std::string clean;
    for (const char c : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        clean += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
    }
    return text.size() > longest ? clean + "..." : clean;
}

}  // namespace convt_jit
