#include "driver/capture.h"

#include "driver/api.h"

namespace convt_jit::driver {

RelaxedCapture::RelaxedCapture() noexcept {
    const Api* cuda = find_api(nullptr);
    if (cuda == nullptr) return;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    changed_ = cuda->exchange_capture_mode(&mode) == CUDA_SUCCESS;
    previous_ = mode;
}

RelaxedCapture::~RelaxedCapture() {
    if (!changed_) return;
    auto mode = static_cast<CUstreamCaptureMode>(previous_);
    if (const Api* cuda = find_api(nullptr)) cuda->exchange_capture_mode(&mode);
}

bool capturing(CUstream stream) noexcept {
    const Api* cuda = find_api(nullptr);
    if (cuda == nullptr) return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = cuda->stream_is_capturing(stream, &status);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
    return result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace convt_jit::driver
