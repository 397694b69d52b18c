// Message: what a person is told. Telling it never fails, and no text of a user's reaches the terminal as a command.
#pragma once

#include <string>
#include <string_view>

namespace convt_jit::tools {

// "convt: TEXT" on stderr. Where that cannot be written to, the exit code alone has to tell.
void complain(std::string_view text) noexcept;

// On stderr as it is, for who may rewrite the terminal's line.
void tell_raw(std::string_view text) noexcept;

// With control characters, and bytes that are not UTF-8, as \x1b; line breaks and tabs stay, or not.
[[nodiscard]] std::string shown(std::string_view text);
[[nodiscard]] std::string shown_in_line(std::string_view text);

// The last chance to hear that standard output was not written whole. Throws Error.
void finish_output();

// A standard stream that the caller closed stays closed: no file that is opened later gets its number, and with it what
// is written to that stream.
void hold_standard_streams() noexcept;

}  // namespace convt_jit::tools
