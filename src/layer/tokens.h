// Tokens: words between blanks, with the column where each starts, and the numbers inside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

struct Token {
    std::string_view text;
    std::size_t column = 0;  // counted from 1, in bytes
};

[[nodiscard]] std::vector<Token> split(std::string_view text);

// The whole of `text` as a number; nothing where it is none or does not fit.
[[nodiscard]] std::optional<std::int64_t> read_integer(std::string_view text);
[[nodiscard]] std::optional<float> read_float(std::string_view text);
// The shortest text that reads back as the same number.
[[nodiscard]] std::string print_float(float value);

}  // namespace convt_jit
