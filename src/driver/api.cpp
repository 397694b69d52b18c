#include "driver/api.h"

#include "convt_jit/error.h"
#include "log/log.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>

namespace convt_jit::driver {
namespace {

std::atomic<bool> forked{false};

struct Library {
    Api api{};
    bool usable = false;
    // Why it is not.
    std::string message, call, name;
    int code = -1;
};

// Versioned names: libcuda keeps the first versions of its functions under the plain names.
bool resolve(void* handle, Api& api, std::string& missing) {
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
        return function != nullptr;
    };
    const auto need = [&](auto& function, const char* name) {
        if (!find(function, name) && missing.empty()) missing = name;
    };
    need(api.init, "cuInit");
    need(api.driver_version, "cuDriverGetVersion");
    need(api.error_name, "cuGetErrorName");
    need(api.error_string, "cuGetErrorString");
    need(api.device_count, "cuDeviceGetCount");
    need(api.device_get, "cuDeviceGet");
    need(api.device_name, "cuDeviceGetName");
    need(api.device_attribute, "cuDeviceGetAttribute");
    need(api.primary_retain, "cuDevicePrimaryCtxRetain");
    need(api.ctx_current, "cuCtxGetCurrent");
    need(api.ctx_device, "cuCtxGetDevice");
    need(api.ctx_push, "cuCtxPushCurrent_v2");
    need(api.ctx_pop, "cuCtxPopCurrent_v2");
    need(api.ctx_synchronize, "cuCtxSynchronize");
    need(api.module_load, "cuModuleLoadData");
    need(api.module_unload, "cuModuleUnload");
    need(api.module_function, "cuModuleGetFunction");
    need(api.func_attribute, "cuFuncGetAttribute");
    need(api.func_set_attribute, "cuFuncSetAttribute");
    find(api.func_load, "cuFuncLoad");
    need(api.launch, "cuLaunchKernel");
    need(api.mem_alloc, "cuMemAlloc_v2");
    need(api.mem_free, "cuMemFree_v2");
    need(api.copy_to_device, "cuMemcpyHtoD_v2");
    need(api.copy_to_host, "cuMemcpyDtoH_v2");
    need(api.copy_on_device, "cuMemcpyDtoDAsync_v2");
    need(api.fill, "cuMemsetD8_v2");
    need(api.fill_async, "cuMemsetD8Async");
    need(api.pointer_attribute, "cuPointerGetAttribute");
    need(api.stream_create, "cuStreamCreate");
    need(api.stream_destroy, "cuStreamDestroy_v2");
    need(api.stream_synchronize, "cuStreamSynchronize");
    need(api.stream_is_capturing, "cuStreamIsCapturing");
    need(api.stream_capture_info, "cuStreamGetCaptureInfo");
    find(api.stream_id, "cuStreamGetId");
    need(api.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
    find(api.capture_begin, "cuStreamBeginCapture_v2");
    find(api.capture_end, "cuStreamEndCapture");
    find(api.graph_instantiate, "cuGraphInstantiateWithFlags");
    find(api.graph_launch, "cuGraphLaunch");
    find(api.graph_destroy, "cuGraphDestroy");
    find(api.graph_exec_destroy, "cuGraphExecDestroy");
    find(api.event_record_with_flags, "cuEventRecordWithFlags");
    need(api.event_create, "cuEventCreate");
    need(api.event_destroy, "cuEventDestroy_v2");
    need(api.event_record, "cuEventRecord");
    need(api.event_synchronize, "cuEventSynchronize");
    need(api.event_elapsed, "cuEventElapsedTime");
    return missing.empty();
}

void open(Library& library) {
    const char* chosen = std::getenv("CONVT_JIT_LIBCUDA");
    const char* file = chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
    void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        library.call = "dlopen";
        library.message = fmt::format("there is no CUDA driver: {}", dlerror());
        return;
    }
    std::string missing;
    if (!resolve(handle, library.api, missing)) {
        library.call = missing;
        library.message = fmt::format("the CUDA driver in {} is too old: it has no {}", file, missing);
        return;
    }
    if (const CUresult result = library.api.init(0); result != CUDA_SUCCESS) {
        const char* name = nullptr;
        library.api.error_name(result, &name);
        library.call = "cuInit";
        library.code = result;
        library.name = name != nullptr ? name : "";
        library.message = "cuInit: " + describe(library.api, result);
        return;
    }
    pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
    library.usable = true;
    log::debug("CUDA driver from {}", file);
}

const Library& library() {
    // Never destroyed: kernels may go after the static objects of this library.
    static const Library* const instance = [] {
        auto* opened = new Library;
        open(*opened);
        return opened;
    }();
    return *instance;
}

constexpr const char* kForked =
    "this process was forked from one that had CUDA in use, and CUDA does not survive a fork: start it with exec "
    "(\"spawn\"), or fork before the first use";

}  // namespace

const Api& api() {
    const Library& opened = library();
    if (!opened.usable) throw DriverError(opened.message, opened.call, opened.code, opened.name);
    if (forked.load(std::memory_order_relaxed))
        throw DriverError(kForked, "fork", CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED");
    return opened.api;
}

const Api* find_api(std::string* why) noexcept {
    try {
        return &api();
    } catch (const std::exception& error) {
        try {
            if (why != nullptr) *why = error.what();
        } catch (const std::exception&) {
            why->clear();
        }
        return nullptr;
    }
}

std::string describe(const Api& cuda, CUresult result) {
    const char* name = nullptr;
    const char* text = nullptr;
    cuda.error_name(result, &name);
    cuda.error_string(result, &text);
    return fmt::format("{} ({})", name != nullptr ? name : fmt::format("error {}", static_cast<int>(result)),
                       text != nullptr ? text : "unknown to this driver");
}

void throw_failed(CUresult result, const char* call, std::string_view doing) {
    const Api& cuda = library().api;
    const char* name = nullptr;
    cuda.error_name(result, &name);
    std::string message = fmt::format("{}: {}", call, describe(cuda, result));
    if (!doing.empty()) message += fmt::format(", {}", doing);
    throw DriverError(message, call, result, name != nullptr ? name : "");
}

}  // namespace convt_jit::driver
