// Context: a CUDA context that kernels are loaded into, the application's own or the device's primary one.
#pragma once

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

// The context to load into for a device: the calling thread's current one if it is on that device, else the device's
// primary context, which is retained for the life of the process.
struct Context {
    CUcontext handle = nullptr;
    std::uint64_t id = 0;  // unique over the life of the process, also where an address is used again
    int device = 0;
    friend bool operator==(const Context&, const Context&) = default;
};
[[nodiscard]] Context context_for(int ordinal);
// False once the context was destroyed or the device reset.
[[nodiscard]] bool alive(const Context& context) noexcept;

// Makes a context current for a scope, where it is not already.
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
