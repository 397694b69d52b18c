// Compilers: which producer a compiler's file is, remembered after it was opened once, so that a hit needs to open
// none.
#pragma once

#include "cache/root.h"

#include <optional>
#include <string>
#include <string_view>

namespace convt_jit {

// `identity` is whatever changes when the file does (resolved path, size, modification time, inode). `declared`: see
// trust.h. A record that is not sound is none: the compiler is opened once more, and remembered anew.
[[nodiscard]] std::optional<std::string> recall_compiler(const std::string& directory, const std::string& identity,
                                                         bool declared = false);
void remember_compiler(const std::string& directory, const std::string& identity, const std::string& producer,
                       bool declared = false);

// A record: the producer, then a digest over the record's own name (that of the identity) and the producer. So neither
// a changed byte nor the record of another file is taken for a right one.
[[nodiscard]] std::string compiler_record(const std::string& name, const std::string& producer);
// The producer; nothing where any byte is wrong.
[[nodiscard]] std::optional<std::string> parse_compiler_record(const std::string& name, std::string_view text);

inline constexpr std::size_t kMaxCompilerRecord = 4096;

}  // namespace convt_jit
