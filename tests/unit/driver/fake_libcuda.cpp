// Fake libcuda: the entry points that the driver room uses, with bookkeeping instead of a GPU. Device memory is host
// memory; a kernel launch is a record. Handles that dangle are answered as the driver answers them, never followed.
#include "fake_libcuda.h"

#include "../../../templates/device/args.cuh"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace convt_jit::test {
namespace {

struct Allocation {
    CUcontext context;
    unsigned long long id;
    std::unique_ptr<unsigned char[]> bytes;
};

struct Function {
    CUmodule module;
    std::string name;
};

struct Capture {
    std::thread::id thread;
    CUstreamCaptureMode mode;
    cuuint64_t id;
    bool broken = false;
};

thread_local std::vector<CUcontext> context_stack;
thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

template <class Handle>
Handle handle(std::uintptr_t number) {
    return reinterpret_cast<Handle>(number);
}

class Fake final : public FakeCuda {
public:
    static Fake& instance() {
        static auto* const fake = new Fake;
        return *fake;
    }

    CUcontext create_context(int device) override {
        const std::scoped_lock lock(mutex_);
        // Addresses are used again at once, as an allocator may do.
        std::uintptr_t address = 0x1000;
        while (contexts_.count(handle<CUcontext>(address)) != 0) address += 0x100;
        const auto context = handle<CUcontext>(address);
        contexts_[context] = device;
        context_stack.push_back(context);
        return context;
    }
    void destroy_context(CUcontext context) override {
        const std::scoped_lock lock(mutex_);
        drop(context);
        if (!context_stack.empty() && context_stack.back() == context) context_stack.pop_back();
    }
    // The handle of a primary context stays the same through a reset.
    void reset_device(int device) override {
        const std::scoped_lock lock(mutex_);
        drop(primary(device));
    }
    void set_current(CUcontext context) override {
        context_stack.clear();
        if (context != nullptr) context_stack.push_back(context);
    }
    CUcontext current() override { return context_stack.empty() ? nullptr : context_stack.back(); }
    void begin_capture(CUstream stream, CUstreamCaptureMode mode) override {
        const std::scoped_lock lock(mutex_);
        captures_[stream] = {std::this_thread::get_id(), mode, ++next_id_};
    }
    CUresult end_capture(CUstream stream) override {
        const std::scoped_lock lock(mutex_);
        const bool broken = captures_.at(stream).broken;
        captures_.erase(stream);
        return broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    }
    void reuse_stream(CUstream stream) override { stream_ids_[stream] = ++next_id_; }
    void lack_functions(const std::string& ending) override { lacking_ = ending; }
    void fail_next(const std::string& call, CUresult result) override { failures_[call] = result; }
    std::vector<FakeLaunch> take_launches() override { return std::exchange(launches_, {}); }
    int loaded_modules() override { return static_cast<int>(modules_.size()); }
    int retained(int device) override { return retained_[device]; }
    int dynamic_shared_bytes() override { return dynamic_shared_; }
    int functions_loaded() override { return functions_loaded_; }
    std::size_t allocations() override { return memory_.size(); }

    static CUcontext primary(int device) { return handle<CUcontext>(0x10 + static_cast<std::uintptr_t>(device)); }

    // What a call starts with: a failure that a test asked for, then a living current context.
    CUresult enter(const std::string& call) {
        if (const auto failure = failures_.find(call); failure != failures_.end()) {
            const CUresult result = failure->second;
            failures_.erase(failure);
            return result;
        }
        return CUDA_SUCCESS;
    }
    CUresult enter_context(const std::string& call) {
        if (const CUresult failure = enter(call); failure != CUDA_SUCCESS) return failure;
        if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
        return contexts_.count(current()) != 0 ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    CUresult enter_unsafe(const std::string& call) {
        if (const CUresult failure = enter_context(call); failure != CUDA_SUCCESS) return failure;
        bool refused = false;
        for (auto& [stream, capture] : captures_) {
            const bool ours = capture.thread == std::this_thread::get_id();
            const bool forbidden =
                capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
                (ours ? capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED
                      : capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
            if (forbidden) refused = capture.broken = true;
        }
        return refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
    }

    void drop(CUcontext context) {
        contexts_.erase(context);
        std::erase_if(memory_, [&](const auto& item) { return item.second.context == context; });
        std::erase_if(modules_, [&](const auto& item) { return item.second == context; });
    }

    std::recursive_mutex mutex_;
    std::map<CUcontext, int> contexts_;  // living ones and their devices
    std::map<int, int> retained_;
    std::map<CUdeviceptr, Allocation> memory_;
    std::map<CUmodule, CUcontext> modules_;
    std::map<CUfunction, Function> functions_;
    std::map<CUstream, unsigned long long> stream_ids_;
    std::string lacking_;
    std::map<CUstream, Capture> captures_;
    std::map<std::string, CUresult> failures_;
    std::vector<FakeLaunch> launches_;
    std::map<CUevent, std::chrono::steady_clock::time_point> events_;
    int dynamic_shared_ = 0, functions_loaded_ = 0;
    unsigned long long next_id_ = 1;
    std::uintptr_t next_handle_ = 0x100000;
};

using Lock = std::scoped_lock<std::recursive_mutex>;

Fake& fake() { return Fake::instance(); }

}  // namespace
}  // namespace convt_jit::test

using namespace convt_jit::test;

// Exported under the names that cuda.h's macros make of these.
#define FAKE extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

extern "C" __attribute__((visibility("default"))) FakeCuda* fake_cuda() { return &fake(); }

FAKE cuInit(unsigned) { return CUDA_SUCCESS; }
FAKE cuDriverGetVersion(int* version) { return *version = 13010, CUDA_SUCCESS; }
FAKE cuGetErrorName(CUresult error, const char** name) {
    static const std::map<CUresult, const char*> names = {
        {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
        {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
        {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
        {CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    };
    const auto found = names.find(error);
    *name = found != names.end() ? found->second : nullptr;
    return found != names.end() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FAKE cuGetErrorString(CUresult error, const char** text) {
    const CUresult result = cuGetErrorName(error, text);
    if (result == CUDA_SUCCESS) *text = "as the fake driver says";
    return result;
}

FAKE cuDeviceGetCount(int* count) { return *count = kFakeDevices, CUDA_SUCCESS; }
FAKE cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
FAKE cuDeviceGetName(char* name, int length, CUdevice device) {
    std::snprintf(name, static_cast<std::size_t>(length), "Fake %d", device);
    return CUDA_SUCCESS;
}
FAKE cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    switch (attribute) {
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
            *value = device == 0 ? 9 : 12;
            break;
        case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
            *value = 0;
            break;
        case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
            *value = 132;
            break;
        case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
            *value = 50 << 20;
            break;
        case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
            *value = kFakeSharedBytes;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

FAKE cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    const Lock lock(fake().mutex_);
    if (const CUresult failure = fake().enter("cuDevicePrimaryCtxRetain"); failure != CUDA_SUCCESS) return failure;
    *context = Fake::primary(device);
    fake().contexts_[*context] = device;
    ++fake().retained_[device];
    return CUDA_SUCCESS;
}
FAKE cuCtxGetCurrent(CUcontext* context) { return *context = fake().current(), CUDA_SUCCESS; }
FAKE cuCtxGetDevice(CUdevice* device) {
    const Lock lock(fake().mutex_);
    if (const CUresult failure = fake().enter_context("cuCtxGetDevice"); failure != CUDA_SUCCESS) return failure;
    return *device = fake().contexts_.at(fake().current()), CUDA_SUCCESS;
}
FAKE cuCtxPushCurrent(CUcontext context) {
    const Lock lock(fake().mutex_);
    if (fake().contexts_.count(context) == 0) return CUDA_ERROR_INVALID_CONTEXT;
    return context_stack.push_back(context), CUDA_SUCCESS;
}
FAKE cuCtxPopCurrent(CUcontext* context) {
    if (context_stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    *context = context_stack.back();
    return context_stack.pop_back(), CUDA_SUCCESS;
}
FAKE cuCtxSynchronize() { return fake().enter_unsafe("cuCtxSynchronize"); }

FAKE cuModuleLoadData(CUmodule* module, const void*) {
    const Lock lock(fake().mutex_);
    if (const CUresult failure = fake().enter_unsafe("cuModuleLoadData"); failure != CUDA_SUCCESS) return failure;
    *module = handle<CUmodule>(++fake().next_handle_);
    fake().modules_[*module] = fake().current();
    return CUDA_SUCCESS;
}
FAKE cuModuleUnload(CUmodule module) {
    const Lock lock(fake().mutex_);
    if (const CUresult failure = fake().enter_unsafe("cuModuleUnload"); failure != CUDA_SUCCESS) return failure;
    return fake().modules_.erase(module) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
FAKE cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    const Lock lock(fake().mutex_);
    if (const CUresult failure = fake().enter_context("cuModuleGetFunction"); failure != CUDA_SUCCESS) return failure;
    // What this library compiles, and what the tests of the driver name so.
    if (std::strcmp(name, "kernel") != 0 && std::strncmp(name, "convt_", 6) != 0) return CUDA_ERROR_NOT_FOUND;
    const std::string text = name;
    if (!fake().lacking_.empty() && text.ends_with(fake().lacking_)) return CUDA_ERROR_NOT_FOUND;
    *function = handle<CUfunction>(++fake().next_handle_);
    fake().functions_[*function] = {module, text};
    return CUDA_SUCCESS;
}
FAKE cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = 40;
            break;
        case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
            *value = 8;
            break;
        case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
            *value = 1024;
            break;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}
FAKE cuFuncSetAttribute(CUfunction, CUfunction_attribute, int value) {
    return fake().dynamic_shared_ = value, CUDA_SUCCESS;
}
FAKE cuFuncLoad(CUfunction) {
    const Lock lock(fake().mutex_);
    ++fake().functions_loaded_;
    return fake().enter_unsafe("cuFuncLoad");
}
FAKE cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned, unsigned,
                    unsigned shared_bytes, CUstream stream, void** parameters, void**) {
    const Lock lock(fake().mutex_);
    if (const CUresult failure = fake().enter_context("cuLaunchKernel"); failure != CUDA_SUCCESS) return failure;
    const Function& of = fake().functions_.at(function);
    const auto module = fake().modules_.find(of.module);
    if (module == fake().modules_.end() || module->second != fake().current()) return CUDA_ERROR_INVALID_HANDLE;
    FakeLaunch launch{fake().current(), {x, y, z}, threads, shared_bytes, stream, of.name, {}, nullptr, nullptr};
    std::memcpy(launch.argument, parameters[0], sizeof launch.argument);
    if (of.name.starts_with("convt_") && !of.name.ends_with("_pack")) {
        const auto& args = *static_cast<const ConvtArgs*>(parameters[0]);
        launch.packed = args.packed, launch.workspace = args.workspace;
    }
    fake().launches_.push_back(launch);
    return CUDA_SUCCESS;
}

FAKE cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
    const Lock lock(fake().mutex_);
    if (const CUresult failure = fake().enter_unsafe("cuMemAlloc"); failure != CUDA_SUCCESS) return failure;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    auto memory = std::make_unique<unsigned char[]>(bytes);
    *address = reinterpret_cast<CUdeviceptr>(memory.get());
    fake().memory_[*address] = {fake().current(), fake().next_id_++, std::move(memory)};
    return CUDA_SUCCESS;
}
FAKE cuMemFree(CUdeviceptr address) {
    const Lock lock(fake().mutex_);
    if (const CUresult failure = fake().enter_unsafe("cuMemFree"); failure != CUDA_SUCCESS) return failure;
    return fake().memory_.erase(address) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FAKE cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
    if (const CUresult failure = fake().enter_unsafe("cuMemcpyHtoD"); failure != CUDA_SUCCESS) return failure;
    return std::memcpy(reinterpret_cast<void*>(to), from, bytes), CUDA_SUCCESS;
}
FAKE cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
    if (const CUresult failure = fake().enter_unsafe("cuMemcpyDtoH"); failure != CUDA_SUCCESS) return failure;
    return std::memcpy(to, reinterpret_cast<void*>(from), bytes), CUDA_SUCCESS;
}
FAKE cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
    if (const CUresult failure = fake().enter_unsafe("cuMemcpyDtoDAsync"); failure != CUDA_SUCCESS) return failure;
    return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), CUDA_SUCCESS;
}
FAKE cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream) {
    if (const CUresult failure = fake().enter_context("cuMemsetD8Async"); failure != CUDA_SUCCESS) return failure;
    return std::memset(reinterpret_cast<void*>(to), value, bytes), CUDA_SUCCESS;
}
FAKE cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t bytes) {
    if (const CUresult failure = fake().enter_unsafe("cuMemsetD8"); failure != CUDA_SUCCESS) return failure;
    return std::memset(reinterpret_cast<void*>(to), value, bytes), CUDA_SUCCESS;
}
FAKE cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address) {
    const Lock lock(fake().mutex_);
    const auto found = fake().memory_.find(address);
    if (attribute != CU_POINTER_ATTRIBUTE_BUFFER_ID || found == fake().memory_.end()) return CUDA_ERROR_INVALID_VALUE;
    return *static_cast<unsigned long long*>(data) = found->second.id, CUDA_SUCCESS;
}

FAKE cuStreamCreate(CUstream* stream, unsigned) {
    const Lock lock(fake().mutex_);
    if (const CUresult failure = fake().enter_context("cuStreamCreate"); failure != CUDA_SUCCESS) return failure;
    return *stream = handle<CUstream>(++fake().next_handle_), CUDA_SUCCESS;
}
FAKE cuStreamDestroy(CUstream) { return CUDA_SUCCESS; }
FAKE cuStreamSynchronize(CUstream) { return fake().enter_unsafe("cuStreamSynchronize"); }
// Every stream of the fake counts as one that synchronises with the default stream.
FAKE cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    const Lock lock(fake().mutex_);
    if (stream == nullptr && !fake().captures_.empty()) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    const auto found = fake().captures_.find(stream);
    *status = found == fake().captures_.end() ? CU_STREAM_CAPTURE_STATUS_NONE
              : found->second.broken          ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                              : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}
#undef cuStreamGetCaptureInfo  // the first version, under its plain name
FAKE cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id) {
    const Lock lock(fake().mutex_);
    const CUresult result = cuStreamIsCapturing(stream, status);
    if (result == CUDA_SUCCESS && *status != CU_STREAM_CAPTURE_STATUS_NONE) *id = fake().captures_.at(stream).id;
    return result;
}
FAKE cuStreamGetId(CUstream stream, unsigned long long* id) {
    const Lock lock(fake().mutex_);
    if (const auto capture = fake().captures_.find(stream); capture != fake().captures_.end())
        return capture->second.broken = true, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const auto found = fake().stream_ids_.find(stream);
    return *id = found != fake().stream_ids_.end() ? found->second : 1, CUDA_SUCCESS;
}
FAKE cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    return std::swap(*mode, capture_mode), CUDA_SUCCESS;
}

FAKE cuEventCreate(CUevent* event, unsigned) {
    const Lock lock(fake().mutex_);
    if (const CUresult failure = fake().enter_context("cuEventCreate"); failure != CUDA_SUCCESS) return failure;
    *event = handle<CUevent>(++fake().next_handle_);
    fake().events_[*event] = {};
    return CUDA_SUCCESS;
}
FAKE cuEventDestroy(CUevent event) {
    const Lock lock(fake().mutex_);
    return fake().events_.erase(event) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
FAKE cuEventRecord(CUevent event, CUstream) {
    const Lock lock(fake().mutex_);
    return fake().events_[event] = std::chrono::steady_clock::now(), CUDA_SUCCESS;
}
FAKE cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
#undef cuEventElapsedTime
FAKE cuEventElapsedTime(float* milliseconds, CUevent start, CUevent stop) {
    const Lock lock(fake().mutex_);
    *milliseconds = std::chrono::duration<float, std::milli>(fake().events_[stop] - fake().events_[start]).count();
    return CUDA_SUCCESS;
}
