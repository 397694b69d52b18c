#include "autotune/clocks.h"

#include <dlfcn.h>

#include <memory>

namespace convt_jit::tools {
namespace {

// Of nvml.h, which is no part of the driver's installation. Its functions return 0 where they succeed.
using NvmlDevice = void*;
constexpr int kMultiprocessorClock = 1, kMemoryClock = 2;

template <class Function>
Function* function(void* library, const char* name) {
    return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

Clocks clocks_now() {
    Clocks clocks;
    const std::unique_ptr<void, int (*)(void*)> library(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL),
                                                        [](void* open) { return open ? ::dlclose(open) : 0; });
    if (!library) return clocks;
    auto* const init = function<int()>(library.get(), "nvmlInit_v2");
    auto* const shutdown = function<int()>(library.get(), "nvmlShutdown");
    auto* const count = function<int(unsigned*)>(library.get(), "nvmlDeviceGetCount_v2");
    auto* const device_at = function<int(unsigned, NvmlDevice*)>(library.get(), "nvmlDeviceGetHandleByIndex_v2");
    auto* const clock = function<int(NvmlDevice, int, unsigned*)>(library.get(), "nvmlDeviceGetClockInfo");
    if (!init || !shutdown || !count || !device_at || !clock || init() != 0) return clocks;
    unsigned cards = 0, mhz = 0;
    NvmlDevice device = nullptr;
    if (count(&cards) == 0 && cards == 1 && device_at(0, &device) == 0) {
        if (clock(device, kMultiprocessorClock, &mhz) == 0) clocks.multiprocessors = static_cast<int>(mhz);
        if (clock(device, kMemoryClock, &mhz) == 0) clocks.memory = static_cast<int>(mhz);
    }
    shutdown();
    return clocks;
}

}  // namespace convt_jit::tools
