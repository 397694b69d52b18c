#include "compile/nvrtc.h"
#include "convt_jit/engine.h"
#include "convt_jit/error.h"

#include <fmt/format.h>

namespace convt_jit {

const char* version() noexcept { return CONVT_JIT_VERSION; }

std::string nvrtc_version(std::string* why) {
    try {
        const NvrtcVersion& v = Nvrtc::instance().version();
        return fmt::format("{}.{}", v.major, v.minor);
    } catch (const CompileError& error) {
        if (why != nullptr) *why = error.what();
        return {};
    }
}

}  // namespace convt_jit
