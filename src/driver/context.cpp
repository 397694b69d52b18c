#include "driver/context.h"

#include "driver/api.h"
#include "driver/capture.h"
#include "log/log.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <optional>

namespace convt_jit::driver {
namespace {

// The calling thread's current context if it is on that device and there is still one behind the handle.
CUcontext current_on(const Api& cuda, int ordinal) {
    CUcontext handle = nullptr;
    CUdevice device = -1;
    if (cuda.ctx_current(&handle) != CUDA_SUCCESS || handle == nullptr) return nullptr;
    return cuda.ctx_device(&device) == CUDA_SUCCESS && device == ordinal ? handle : nullptr;
}

bool is_gone(CUresult result) {
    return result == CUDA_ERROR_CONTEXT_IS_DESTROYED || result == CUDA_ERROR_INVALID_CONTEXT;
}

class Contexts {
public:
    // Never destroyed, as the contexts outlive the static objects.
    static Contexts& instance() {
        static auto* const contexts = new Contexts;
        return *contexts;
    }

    Context find(const Api& cuda, int ordinal) {
        const std::scoped_lock lock(mutex_);
        if (CUcontext handle = current_on(cuda, ordinal)) {
            // A primary context that was reset can still be current: then it must be retained before it works again.
            if (const auto context = adopt(cuda, handle, ordinal)) return *context;
        }
        if (const auto primary = primaries_.find(ordinal); primary != primaries_.end())
            if (const auto known = contexts_.find(primary->second); known != contexts_.end() && alive(known->second))
                return known->second;
        CUcontext handle = nullptr;
        check(cuda.primary_retain(&handle, ordinal), "cuDevicePrimaryCtxRetain",
              fmt::format("making the context of device {}", ordinal));
        primaries_[ordinal] = handle;
        if (const auto context = adopt(cuda, handle, ordinal)) return *context;
        throw_failed(CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuCtxPushCurrent",
                     fmt::format("using the primary context of device {}", ordinal));
    }

private:
    // The entry for a handle, with a new witness where the old one died. Nothing where the handle's context is gone.
    std::optional<Context> adopt(const Api& cuda, CUcontext handle, int ordinal) {
        if (const auto known = contexts_.find(handle); known != contexts_.end() && alive(known->second))
            return known->second;
        std::erase_if(contexts_, [](const auto& item) { return !alive(item.second); });

        Context context{handle, 0, 0, ordinal};
        if (const CUresult result = cuda.ctx_push(handle); result != CUDA_SUCCESS) {
            if (is_gone(result)) return std::nullopt;
            check(result, "cuCtxPushCurrent");
        }
        CUdeviceptr address = 0;
        CUresult result = CUDA_SUCCESS;
        {
            const RelaxedCapture relaxed;
            result = cuda.mem_alloc(&address, 1);
        }
        CUcontext popped = nullptr;
        cuda.ctx_pop(&popped);
        if (is_gone(result)) return std::nullopt;
        check(result, "cuMemAlloc", fmt::format("marking a context of device {} with one byte", ordinal));
        context.witness = address;
        check(cuda.pointer_attribute(&context.id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address), "cuPointerGetAttribute");
        contexts_[handle] = context;
        log::debug("context {} on device {}", context.id, ordinal);
        return context;
    }

    std::mutex mutex_;
    std::map<CUcontext, Context> contexts_;
    std::map<int, CUcontext> primaries_;
};

}  // namespace

int current_device() noexcept {
    const Api* cuda = find_api(nullptr);
    CUcontext handle = nullptr;
    CUdevice device = -1;
    if (cuda == nullptr || cuda->ctx_current(&handle) != CUDA_SUCCESS || handle == nullptr) return -1;
    return cuda->ctx_device(&device) == CUDA_SUCCESS ? device : -1;
}

Context context_for(int ordinal) {
    (void)device_facts(ordinal);
    return Contexts::instance().find(api(), ordinal);
}

bool alive(const Context& context) noexcept {
    const Api* cuda = find_api(nullptr);
    unsigned long long id = 0;
    return cuda != nullptr && context.witness != 0 &&
           cuda->pointer_attribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, context.witness) == CUDA_SUCCESS &&
           id == context.id;
}

Current::Current(const Context& context) {
    const Api& cuda = api();
    CUcontext current = nullptr;
    check(cuda.ctx_current(&current), "cuCtxGetCurrent");
    if (current == context.handle) return;
    check(cuda.ctx_push(context.handle), "cuCtxPushCurrent");
    pushed_ = true;
}

Current::~Current() {
    CUcontext popped = nullptr;
    if (pushed_) api().ctx_pop(&popped);
}

}  // namespace convt_jit::driver
