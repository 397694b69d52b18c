// Context: a CUDA context that kernels are loaded into, the application's own or the device's primary one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

using CUcontext = struct CUctx_st*;

namespace convt_jit::driver {

struct DeviceFacts {
    std::string name;
    int arch = 0;  // compute capability as 90
    int multiprocessors = 0;
    std::size_t l2_bytes = 0;
    std::size_t shared_bytes_per_block = 0;  // the largest that a kernel may opt in to
};

// 0 where there is no driver or no device; `why` then says which. Never throws.
[[nodiscard]] int device_count(std::string* why) noexcept;
// Throws DriverError for a device that does not exist (and says how many there are).
[[nodiscard]] const DeviceFacts& device_facts(int ordinal);
[[nodiscard]] std::string driver_version();  // "13.0"

// Ordinal of the calling thread's current context, or -1. Never throws.
[[nodiscard]] int current_device() noexcept;

// A context and how to tell that it is still the same one. A handle cannot tell: it may dangle, the address may be used
// again, and a primary context keeps its handle through a reset. So each context gets one byte of device memory, the
// witness, which lives exactly as long as the context; the driver gives every allocation an id that it never uses
// again, and looking one up is safe for any address, on any thread.
struct Context {
    CUcontext handle = nullptr;
    std::uint64_t id = 0;       // of the witness: unique over the life of the process
    std::uint64_t witness = 0;  // its device address
    int device = 0;
    friend bool operator==(const Context&, const Context&) = default;
};

// The context to load into for a device: the calling thread's current one if it is on that device, else the device's
// primary context. That one is retained for the life of the process: kernels, buffers and the application's own
// runtime-API calls share it, and nobody can tell when the last of them is done. After a reset it is retained anew.
[[nodiscard]] Context context_for(int ordinal);

// False once the context was destroyed or the device reset, also where another context has its address now. Lock-free
// and cheap enough for every launch. A context that another thread destroys meanwhile is that thread's fault.
[[nodiscard]] bool alive(const Context& context) noexcept;

// Makes a context current for a scope, where it is not already. The context must be alive.
class Current {
public:
    explicit Current(const Context& context);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

private:
    bool pushed_ = false;
};

}  // namespace convt_jit::driver
