// Nvrtc: the run-time compiler, opened with dlopen on first use and never at load time of the library.
#pragma once

#include "plan/arch.h"
#include "render/render.h"

#include <memory>
#include <string>
#include <vector>

namespace convt_jit {

struct NvrtcVersion {
    int major = 0, minor = 0;
    // Identifies the very library, whatever path it was opened by: version and link-time id, "13.0+65be0db342ad", or
    // the compiler's own banner, "13.0.88", where a library carries no id. "" where it cannot be told.
    std::string build;
    friend bool operator==(const NvrtcVersion&, const NvrtcVersion&) = default;
};

struct Cubin {
    std::string bytes;    // an ELF image for exactly one arch
    std::string options;  // what the compiler was given, separated by blanks
};

// Options that a source is compiled with; part of the cache key, known without opening NVRTC.
[[nodiscard]] std::vector<std::string> compile_options(const Arch& arch);

// The NVRTC library of the process. All functions are thread-safe, and compile() runs in parallel: NVRTC allows
// concurrent calls on different programs (before CUDA 12.3 it takes turns inside).
// Search order: $CONVT_JIT_NVRTC (a file, and then no other), the loader's own path (also finds a library that the
// application has loaded already), $CUDA_HOME and $CUDA_PATH, /usr/local/cuda, the directories of libconvt_jit and of
// the program, and nvidia's PyPI wheels beside them.
class Nvrtc {
public:
    // Throws CompileError that lists where it looked. A later call looks again.
    static Nvrtc& instance();
    // The same where it is open already, else null.
    [[nodiscard]] static const Nvrtc* opened() noexcept;
    ~Nvrtc();
    Nvrtc(const Nvrtc&) = delete;
    Nvrtc& operator=(const Nvrtc&) = delete;

    [[nodiscard]] const NvrtcVersion& version() const;
    [[nodiscard]] const std::string& path() const;         // the file that was opened
    [[nodiscard]] const std::vector<Arch>& archs() const;  // those it can compile for, ascending, without suffix
    // Suffix included: NVRTC lists no suffixes, so those are asked of the compiler itself (a few milliseconds, once).
    [[nodiscard]] bool knows(const Arch& arch) const;

    // Throws CompileError: unknown arch (lists those known), or a source that does not compile (log mapped to template
    // lines, constants, path of the dumped source).
    [[nodiscard]] Cubin compile(const Source& source, const Arch& arch) const;

private:
    Nvrtc();
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace convt_jit
