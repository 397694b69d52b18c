// Nvrtc: the run-time compiler, opened with dlopen on first use and never at load time of the library.
#pragma once

#include "plan/arch.h"
#include "render/render.h"

#include <string>
#include <vector>

namespace convt_jit {

struct NvrtcVersion {
    int major = 0, minor = 0;
    std::string build;  // path-free identification of the very library, e.g. "13.0.88"; "" where it cannot be told
    friend bool operator==(const NvrtcVersion&, const NvrtcVersion&) = default;
};

struct Cubin {
    std::string bytes;    // an ELF image for exactly one arch
    std::string options;  // what the compiler was given, separated by blanks
};

// Options that a source is compiled with; part of the cache key, known without opening NVRTC.
[[nodiscard]] std::vector<std::string> compile_options(const Arch& arch);

// One NVRTC library of the process. All functions are thread-safe.
// Search order: $CONVT_JIT_NVRTC (a file), the loader's own path, $CUDA_HOME and $CUDA_PATH, /usr/local/cuda,
// the directory of libconvt_jit, the NVRTC of nvidia's PyPI wheels beside it.
class Nvrtc {
public:
    // Throws CompileError that lists where it looked.
    static Nvrtc& instance();

    [[nodiscard]] const NvrtcVersion& version() const;
    [[nodiscard]] const std::vector<Arch>& archs() const;  // those it can compile for, ascending, without suffix
    [[nodiscard]] bool knows(const Arch& arch) const;      // suffix included

    // Throws CompileError: unknown arch (lists those known), or a source that does not compile (log mapped to template
    // lines, constants, path of the dumped source).
    [[nodiscard]] Cubin compile(const Source& source, const Arch& arch) const;

private:
    Nvrtc();
    struct Library;
    const Library* library_;
};

}  // namespace convt_jit
