// Kernel: one compiled and loaded layer, ready to be launched.
#pragma once

#include "convt_jit/device.h"
#include "convt_jit/export.h"
#include "convt_jit/layer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace convt_jit {

/// Device pointers of one launch (host pointers on the simulator). Contiguous in the layer's layout, aligned to the
/// element size. Which of them must be set follows from the layer; one that the layer does not use must be null.
struct Tensors {
    const void* x = nullptr;         ///< (N, C, *in) or (N, *in, C)
    const void* w = nullptr;         ///< (C, O/groups, *kernel), whatever the layout
    const void* bias = nullptr;      ///< (O), the layer's dtype
    const void* residual = nullptr;  ///< y's shape, dtype and layout; may be y itself
    const float* scale = nullptr;    ///< (O), f32, with epilogue.affine
    const float* shift = nullptr;    ///< (O), f32, with epilogue.affine
    void* y = nullptr;               ///< (N, O, *out) or (N, *out, O)
    /// Some kernels load weights in an order of their own, and pack them before. 0: at each launch, since the weights
    /// may have changed (training). Else only where this kernel has not packed this `w` with this version on this
    /// stream (inference): choose another version whenever what `w` points to has changed.
    std::uint64_t weights_version = 0;
};

/// Where a kernel's machine code came from.
enum class Origin { memory, disk, compiler };
[[nodiscard]] CONVT_JIT_API const char* to_string(Origin origin) noexcept;

/// Who chose a kernel's plan.
enum class PlanOrigin {
    asked,     ///< PrepareOptions::plan
    record,    ///< a tuning record
    standard,  ///< nobody: the default choice
    generic    ///< Policy::no_wait, until the other kernel is there
};
/// "asked", "record", "default", "generic"
[[nodiscard]] CONVT_JIT_API const char* to_string(PlanOrigin origin) noexcept;

struct KernelInfo {
    std::string layer;   ///< layer string, without batch and input size
    std::string family;  ///< "direct"
    std::string plan;    ///< the whole plan as a string that PrepareOptions::plan takes back
    PlanOrigin plan_origin = PlanOrigin::standard;
    std::string arch;  ///< "sm_90a"
    std::string key;   ///< cache key, hex
    Origin origin = Origin::compiler;
    double render_ms = 0, compile_ms = 0, load_ms = 0;  ///< what this prepare spent
    int registers = 0;                                  ///< per thread; 0 where unknown
    int spill_bytes = 0;                                ///< local memory per thread
    int threads = 0;                                    ///< per block
    std::size_t shared_bytes = 0;                       ///< per block
    std::size_t packed_bytes = 0;  ///< device memory that each stream takes for packed weights; 0: packs none
};

/// A copyable handle; the loaded module lives as long as one copy or the engine does. launch is thread-safe.
class CONVT_JIT_API Kernel {
public:
    struct Impl;

    Kernel() = default;
    explicit Kernel(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}
    [[nodiscard]] explicit operator bool() const noexcept { return impl_ != nullptr; }

    /// Enqueues y = epilogue(conv_transpose(x, w)) on `stream`. No synchronisation; may be captured in a CUDA graph.
    /// A kernel that packs its weights enqueues that before, where it is needed. It owns info().packed_bytes of device
    /// memory for each stream, and workspace_bytes() of the largest launch, allocated when a launch on a stream first
    /// needs them (captures have their own) and freed with the last copy of the handle. No other allocation.
    /// Throws LayerError for a wrong shape or a missing, unwanted or misaligned pointer, DriverError where the launch
    /// fails or the context that the kernel was loaded into is gone.
    void launch(const Tensors& tensors, const Shape& shape, StreamHandle stream = nullptr) const;

    /// Packs now what a launch with this `w`, version and stream would pack before it runs, so that launches, and
    /// graphs that are captured on the stream from now on, find it done. Nothing to do for version 0, and for kernels
    /// that read weights as they are. Throws as launch does.
    void pack_weights(const void* w, std::uint64_t version, StreamHandle stream = nullptr) const;

    /// Device memory that a launch on sizes like these takes for partial sums, of which each stream has one; 0: none.
    [[nodiscard]] std::size_t workspace_bytes(const Shape& shape) const;

    /// Of the kernel that a launch would run now. References stay valid as long as the handle.
    [[nodiscard]] const KernelInfo& info() const;
    /// True from a prepare with Policy::no_wait until this handle launches the kernel that is compiled meanwhile, or
    /// until that has failed.
    [[nodiscard]] bool pending() const;
    [[nodiscard]] const Layer& layer() const;
    [[nodiscard]] Device device() const;
    /// The rendered source (made again if the kernel came from the cache).
    [[nodiscard]] std::string source() const;

private:
    std::shared_ptr<const Impl> impl_;
};

}  // namespace convt_jit
