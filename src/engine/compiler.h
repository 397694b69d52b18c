// Compiler: NVRTC as the cache sees it, a producer by name. Known, where possible, without opening it.
#pragma once

#include "cache/settings.h"
#include "compile/nvrtc.h"

#include <string>

namespace convt_jit {

// "nvrtc 13.0+65be0db342ad"
[[nodiscard]] std::string producer_of(const NvrtcVersion& version);

// The producer that a lookup is to ask for: of the compiler that is open already, else what a cache directory remembers
// of the file that would be opened. One that is here but that nobody has met yet is opened, this once: without that,
// entries of the compiler that it replaced would be taken for its own. "" where nobody can tell, above all where there
// is no compiler, and where the policy does not care.
// A compiler that was opened is remembered in the cache directory, unless whoever asks is to change nothing.
enum class Remember { yes, no };
[[nodiscard]] std::string wanted_producer(const CacheSettings& settings, Remember how = Remember::yes);

// Opens it, and lets the cache directory remember what it is. Throws CompileError where it cannot be opened.
[[nodiscard]] const Nvrtc& open_compiler(const CacheSettings& settings);

}  // namespace convt_jit
