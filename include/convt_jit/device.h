// Device: where kernels run. A CUDA device, or the simulator that runs the same source on the CPU.
#pragma once

#include "convt_jit/export.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace convt_jit {

/// A CUstream (or cudaStream_t): the two are the same pointer. nullptr is the default stream.
using StreamHandle = void*;

/// A cheap, copyable name of a device. No context is made until something needs one.
class CONVT_JIT_API Device {
public:
    /// The CUDA device with that ordinal. Throws DriverError where there is no driver or no such device.
    static Device cuda(int ordinal);
    /// The CPU, through the host's C++ compiler: slow and exact.
    static Device simulator();
    /// The device of the calling thread's current CUDA context, else CUDA device 0, else the simulator.
    static Device best();
    /// Number of CUDA devices; 0 where there is no driver. Never throws; `why` is set to the reason for a 0.
    static int cuda_count(std::string* why = nullptr) noexcept;

    [[nodiscard]] bool is_cuda() const noexcept { return ordinal_ >= 0; }
    [[nodiscard]] int ordinal() const noexcept { return ordinal_; }
    /// "NVIDIA H100 80GB HBM3" or "simulator".
    [[nodiscard]] std::string name() const;
    /// Compute capability as an arch without suffix: "sm_90"; "sim" for the simulator.
    [[nodiscard]] std::string arch() const;
    /// Driver version as "13.0" ("" for the simulator).
    [[nodiscard]] std::string driver_version() const;
    [[nodiscard]] int multiprocessors() const;
    [[nodiscard]] std::size_t l2_bytes() const;
    friend bool operator==(const Device& a, const Device& b) noexcept { return a.ordinal_ == b.ordinal_; }
    friend bool operator!=(const Device& a, const Device& b) noexcept { return !(a == b); }

private:
    explicit Device(int ordinal) noexcept : ordinal_(ordinal) {}
    int ordinal_;  // -1: simulator
};

/// Device memory (host memory on the simulator), freed when the last copy goes. For tools and tests: applications
/// bring their own pointers.
class CONVT_JIT_API Buffer {
public:
    Buffer() = default;
    Buffer(const Device& device, std::size_t bytes);
    [[nodiscard]] void* data() const noexcept;
    [[nodiscard]] std::size_t bytes() const noexcept;
    /// Blocking copies of the whole buffer; `bytes` must equal bytes().
    void upload(const void* host, std::size_t bytes) const;
    void download(void* host, std::size_t bytes) const;
    /// Enqueues a copy from a buffer of the same device and size.
    void copy_from(const Buffer& source, StreamHandle stream) const;
    /// Fills it with copies of a pattern, the last one cut, as a blocking copy does.
    void repeat(const void* pattern, std::size_t pattern_bytes) const;
    /// Fills every byte.
    void fill(unsigned char value) const;
    /// The same, enqueued.
    void fill(unsigned char value, StreamHandle stream) const;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// A stream of its own, non-blocking with respect to the default stream.
class CONVT_JIT_API Stream {
public:
    explicit Stream(const Device& device);
    [[nodiscard]] StreamHandle handle() const noexcept;
    void synchronize() const;

private:
    friend class Recording;
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// What was enqueued on a stream, to be enqueued again as a whole: a CUDA graph. (The simulator calls it again.)
class CONVT_JIT_API Recording {
public:
    Recording() = default;
    /// Calls `enqueue`, whose work on the stream is recorded and not run. Timers time each replay: wait for the stream
    /// before they are read. Throws DriverError where the driver cannot record; then nothing was enqueued.
    Recording(const Stream& stream, const std::function<void()>& enqueue);
    void replay() const;
    [[nodiscard]] explicit operator bool() const noexcept { return impl_ != nullptr; }

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

/// Time between two points of a stream, in milliseconds (CUDA events; the wall clock on the simulator).
class CONVT_JIT_API Timer {
public:
    explicit Timer(const Device& device);
    void start(StreamHandle stream);
    void stop(StreamHandle stream);
    /// Waits for stop() to be reached.
    [[nodiscard]] double milliseconds() const;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace convt_jit
