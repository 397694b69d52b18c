// Diagnostics: what a person is told when a source does not compile. Pure.
#pragma once

#include "convt_jit/error.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

struct FailedCompile {
    std::string compiler;  // "NVRTC 13.0"
    std::string result;    // "NVRTC_ERROR_COMPILATION"
    std::string entry;     // name of the kernel
    CompileError::Details details;
};

// The lines of a log that report errors, in order. #line marks make the compiler itself name the template's lines.
[[nodiscard]] std::vector<std::string> error_lines(std::string_view log);

// A few lines: the first errors, the baked constants, the options and the path of the dumped source.
[[nodiscard]] std::string describe(const FailedCompile& failure);

// "13.0.88" out of "Cuda compilation tools, release 13.0, V13.0.88" in a PTX text; "" where there is none.
[[nodiscard]] std::string banner_version(std::string_view ptx);

}  // namespace convt_jit
