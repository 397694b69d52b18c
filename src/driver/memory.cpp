#include "driver/memory.h"

#include "convt_jit/error.h"
#include "driver/api.h"

#include <fmt/format.h>

#include <algorithm>

namespace convt_jit::driver {
namespace {

// For destructors: runs `release` in the context, or nothing where what it would release went with the context.
template <class Release>
void release_in(const Context& context, const Release& release) noexcept {
    if (!alive(context)) return;
    try {
        const Current current(context);
        const RelaxedCapture relaxed;
        release(api());
    } catch (const std::exception&) {
        // Nothing that a destructor could do about it.
    }
}

// Runs `use` in the context, which must still be there.
template <class Use>
void use_in(const Context& context, const Use& use) {
    const Api& cuda = api();
    if (!alive(context))
        throw_failed(CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuCtxPushCurrent",
                     fmt::format("using memory, a stream or an event of device {}", context.device));
    const Current current(context);
    use(cuda);
}

CUdeviceptr address(void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace

DeviceMemory::DeviceMemory(int ordinal, std::size_t bytes) : DeviceMemory(context_for(ordinal), bytes) {}

DeviceMemory::DeviceMemory(const Context& context, std::size_t bytes) : context_(context) {
    use_in(context_, [&](const Api& cuda) {
        const RelaxedCapture relaxed;
        CUdeviceptr allocated = 0;
        check(cuda.mem_alloc(&allocated, std::max<std::size_t>(bytes, 1)), "cuMemAlloc",
              fmt::format("allocating {} bytes on device {}", bytes, context.device));
        data_ = reinterpret_cast<void*>(allocated);
    });
}

DeviceMemory::~DeviceMemory() {
    release_in(context_, [&](const Api& cuda) { cuda.mem_free(address(data_)); });
}

// The driver orders its copies with the default stream only, and may return from one while it is under way; so both
// ends wait for the whole context.
void DeviceMemory::upload(const void* host, std::size_t bytes) const {
    use_in(context_, [&](const Api& cuda) {
        check(cuda.ctx_synchronize(), "cuCtxSynchronize", "before a copy to the device");
        check(cuda.copy_to_device(address(data_), host, bytes), "cuMemcpyHtoD");
        check(cuda.ctx_synchronize(), "cuCtxSynchronize", "after a copy to the device");
    });
}

void DeviceMemory::download(void* host, std::size_t bytes) const {
    use_in(context_, [&](const Api& cuda) {
        check(cuda.ctx_synchronize(), "cuCtxSynchronize", "before a copy to the host");
        check(cuda.copy_to_host(host, address(data_), bytes), "cuMemcpyDtoH");
    });
}

void DeviceMemory::copy_from(const DeviceMemory& source, std::size_t bytes, CUstream stream) const {
    use_in(context_, [&](const Api& cuda) {
        check(cuda.copy_on_device(address(data_), address(source.data_), bytes, stream), "cuMemcpyDtoDAsync");
    });
}

void DeviceMemory::repeat(const void* pattern, std::size_t pattern_bytes, std::size_t bytes) const {
    use_in(context_, [&](const Api& cuda) {
        check(cuda.ctx_synchronize(), "cuCtxSynchronize", "before a copy to the device");
        std::size_t done = std::min(pattern_bytes, bytes);
        check(cuda.copy_to_device(address(data_), pattern, done), "cuMemcpyHtoD");
        while (done < bytes) {  // twice as much each time
            const std::size_t next = std::min(done, bytes - done);
            check(cuda.copy_on_device(address(data_) + done, address(data_), next, nullptr), "cuMemcpyDtoDAsync");
            done += next;
        }
        check(cuda.ctx_synchronize(), "cuCtxSynchronize", "after a copy to the device");
    });
}

void DeviceMemory::fill(unsigned char value, std::size_t bytes) const {
    use_in(context_, [&](const Api& cuda) {
        check(cuda.ctx_synchronize(), "cuCtxSynchronize", "before a fill");
        check(cuda.fill(address(data_), value, bytes), "cuMemsetD8");
        check(cuda.ctx_synchronize(), "cuCtxSynchronize", "after a fill");
    });
}

void DeviceMemory::fill(unsigned char value, std::size_t bytes, CUstream stream) const {
    use_in(context_,
           [&](const Api& cuda) { check(cuda.fill_async(address(data_), value, bytes, stream), "cuMemsetD8Async"); });
}

OwnStream::OwnStream(int ordinal) : context_(context_for(ordinal)) {
    use_in(context_,
           [&](const Api& cuda) { check(cuda.stream_create(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); });
}

OwnStream::~OwnStream() {
    release_in(context_, [&](const Api& cuda) { cuda.stream_destroy(stream_); });
}

void OwnStream::synchronize() const {
    use_in(context_, [&](const Api& cuda) { check(cuda.stream_synchronize(stream_), "cuStreamSynchronize"); });
}

EventPair::EventPair(int ordinal) : context_(context_for(ordinal)) {
    use_in(context_, [&](const Api& cuda) {
        check(cuda.event_create(&start_, CU_EVENT_DEFAULT), "cuEventCreate");
        if (const CUresult result = cuda.event_create(&stop_, CU_EVENT_DEFAULT); result != CUDA_SUCCESS) {
            cuda.event_destroy(start_);
            check(result, "cuEventCreate");
        }
    });
}

EventPair::~EventPair() {
    release_in(context_, [&](const Api& cuda) {
        cuda.event_destroy(start_);
        cuda.event_destroy(stop_);
    });
}

namespace {

// While a stream is recorded, so that each replay records the event.
void record(const Api& cuda, CUevent event, CUstream stream) {
    if (cuda.event_record_with_flags != nullptr && capturing(stream))
        check(cuda.event_record_with_flags(event, stream, CU_EVENT_RECORD_EXTERNAL), "cuEventRecordWithFlags");
    else
        check(cuda.event_record(event, stream), "cuEventRecord");
}

}  // namespace

void EventPair::start(CUstream stream) {
    use_in(context_, [&](const Api& cuda) { record(cuda, start_, stream); });
}

void EventPair::stop(CUstream stream) {
    use_in(context_, [&](const Api& cuda) { record(cuda, stop_, stream); });
}

double EventPair::milliseconds() const {
    float elapsed = 0;
    use_in(context_, [&](const Api& cuda) {
        check(cuda.event_synchronize(stop_), "cuEventSynchronize");
        check(cuda.event_elapsed(&elapsed, start_, stop_), "cuEventElapsedTime");
    });
    return elapsed;
}

}  // namespace convt_jit::driver
