#include "driver/stream_state.h"

#include "driver/api.h"

namespace convt_jit::driver {

StreamState stream_state(CUstream stream) {
    const Api& cuda = api();
    thread_local const char of_this_thread = 0;
    StreamState state{stream, 0, 0};
    if (stream == CU_STREAM_PER_THREAD) state.name = &of_this_thread;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (cuuint64_t id = 0;
        cuda.stream_capture_info(stream, &status, &id) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE)
        state.capture = id;
    // Not while capturing: nothing says that it is allowed there, and captures in which it was asked broke (driver
    // 580).
    if (unsigned long long id = 0;
        state.capture == 0 && cuda.stream_id != nullptr && cuda.stream_id(stream, &id) == CUDA_SUCCESS)
        state.id = id;
    return state;
}

}  // namespace convt_jit::driver
