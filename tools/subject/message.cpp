#include "subject/message.h"

#include "convt_jit/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace convt_jit::tools {
namespace {

std::string escaped(std::string_view text, std::string_view kept) {
    std::string clean;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        // In UTF-8 the control characters above ASCII are C2 80 to C2 9F.
        const bool wide =
            byte == 0xc2 && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
        if (wide)
            clean += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
        else if ((byte < 0x20 && kept.find(text[i]) == std::string_view::npos) || byte == 0x7f)
            clean += fmt::format("\\x{:02x}", byte);
        else
            clean += text[i];
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
    if (std::ferror(stdout) != 0 || std::fflush(stdout) != 0) throw Error("standard output cannot be written to");
}

void hold_standard_streams() noexcept {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        // The lowest free number, so this one; what cannot be written to it is still an error.
        if (::fcntl(stream, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDONLY));
}

}  // namespace convt_jit::tools
