// NvrtcLibrary: libnvrtc opened at run time, as a table of functions.
#pragma once

#include <nvrtc.h>

#include <string>

namespace convt_jit {

struct NvrtcLibrary {
    std::string path;      // the file that was opened
    std::string build_id;  // GNU build id in hex; "" where it has none

    decltype(&::nvrtcVersion) version;
    decltype(&::nvrtcGetErrorString) error_string;
    decltype(&::nvrtcGetNumSupportedArchs) arch_count;
    decltype(&::nvrtcGetSupportedArchs) archs;
    decltype(&::nvrtcCreateProgram) create_program;
    decltype(&::nvrtcDestroyProgram) destroy_program;
    decltype(&::nvrtcCompileProgram) compile_program;
    decltype(&::nvrtcGetProgramLogSize) log_size;
    decltype(&::nvrtcGetProgramLog) log;
    decltype(&::nvrtcGetCUBINSize) cubin_size;
    decltype(&::nvrtcGetCUBIN) cubin;
    decltype(&::nvrtcGetPTXSize) ptx_size;
    decltype(&::nvrtcGetPTX) ptx;
};

// Opens the first of the candidates that is an NVRTC; it is never closed. Throws CompileError that lists where it
// looked, why a file that exists cannot be used, and what to install.
[[nodiscard]] NvrtcLibrary open_nvrtc();

}  // namespace convt_jit
