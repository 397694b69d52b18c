// Capture: keeps a CUDA graph capture of the application whole while something is loaded.
#pragma once

using CUstream = struct CUstream_st*;

namespace convt_jit::driver {

// While one exists, the calling thread may load modules and allocate memory although a stream is being captured, by
// this thread or by another one; those calls take effect at once and are not recorded. Without it they fail and break
// the capture, and the driver has no way to ask beforehand. Does nothing where there is no driver.
class RelaxedCapture {
public:
    RelaxedCapture() noexcept;
    ~RelaxedCapture();
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

private:
    int previous_ = 0;
    bool changed_ = false;
};

// True while `stream` is being captured. For the default stream (null): while any stream of the current context that
// synchronises with it is. A non-blocking stream that is not named cannot be seen, whatever thread captures it.
// Harmless to any capture. False where it cannot be told.
[[nodiscard]] bool capturing(CUstream stream) noexcept;

}  // namespace convt_jit::driver
