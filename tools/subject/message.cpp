#include "subject/message.h"

#include "convt_jit/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

namespace convt_jit::tools {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

// How many bytes the character takes that `text` begins with; 0 where it is no UTF-8.
std::size_t character_bytes(std::string_view text) {
    const unsigned first = byte_at(text, 0);
    if (first < 0x80) return 1;
    const std::size_t count = first >= 0xc2 && first <= 0xdf   ? 2
                              : first >= 0xe0 && first <= 0xef ? 3
                              : first >= 0xf0 && first <= 0xf4 ? 4
                                                               : 0;
    if (count == 0 || text.size() < count) return 0;
    for (std::size_t i = 1; i < count; ++i)
        if ((byte_at(text, i) & 0xc0) != 0x80) return 0;
    // Longer than needed, a surrogate, or above the last code point.
    const unsigned second = byte_at(text, 1);
    const bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return wrong ? 0 : count;
}

std::string escaped(std::string_view text, std::string_view kept) {
    std::string clean;
    while (!text.empty()) {
        const std::size_t count = character_bytes(text);
        const unsigned byte = byte_at(text, 0);
        // In UTF-8 the control characters above ASCII are C2 80 to C2 9F.
        if (count == 2 && byte == 0xc2 && byte_at(text, 1) < 0xa0)
            clean += fmt::format("\\x{:02x}", byte_at(text, 1));
        else if (count == 0 || byte == 0x7f || (byte < 0x20 && kept.find(text[0]) == std::string_view::npos))
            clean += fmt::format("\\x{:02x}", byte);
        else
            clean += text.substr(0, count);
        text.remove_prefix(std::max<std::size_t>(count, 1));
    }
    return clean;
}

}  // namespace

void complain(std::string_view text) noexcept {
    try {
        const std::string line = fmt::format("convt: {}\n", shown(text));
        std::fwrite(line.data(), 1, line.size(), stderr);
    } catch (const std::exception&) {  // no memory for the line
        std::fputs("convt: ", stderr);
        std::fwrite(text.data(), 1, text.size(), stderr);
        std::fputs("\n", stderr);
    }
    std::fflush(stderr);
}

void tell_raw(std::string_view text) noexcept {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

std::string shown(std::string_view text) { return escaped(text, "\n\t"); }

std::string shown_in_line(std::string_view text) { return escaped(text, ""); }

void finish_output() {
    constexpr const char* kTrouble = "standard output cannot be written to";
    if (std::ferror(stdout) != 0) throw Error(kTrouble);
    if (std::fflush(stdout) != 0) throw Error(fmt::format("{}: {}", kTrouble, std::strerror(errno)));
}

void hold_standard_streams() noexcept {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        // The lowest free number, so this one; what cannot be written to it is still an error.
        if (::fcntl(stream, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDONLY));
}

}  // namespace convt_jit::tools
