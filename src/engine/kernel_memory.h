// KernelMemory: the memory that a kernel owns, and what keeps the launches of several threads apart in it.
#pragma once

#include "engine/packed_weights.h"
#include "engine/workspaces.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace convt_jit {

class KernelMemory {
public:
    using Allocate = Workspaces::Allocate;

    // What a launch gets; null where it has no use for it.
    struct Parts {
        const void* packed = nullptr;
        void* workspace = nullptr;
    };
    using Launch = std::function<void(const Parts& parts)>;

    // `packed_bytes`: 0 where no weights are packed.
    KernelMemory(Allocate allocate, std::size_t packed_bytes)
        : allocate_(std::move(allocate)),
          packed_bytes_(packed_bytes),
          weights_([allocate = allocate_, packed_bytes] { return allocate(packed_bytes); }),
          workspaces_(allocate_) {}

    // For another handle of the same kernel, with nothing packed.
    [[nodiscard]] std::shared_ptr<KernelMemory> another() const {
        return std::make_shared<KernelMemory>(allocate_, packed_bytes_);
    }

    // Enqueues `pack` where it is needed and then `launch`. Nothing of another thread comes between, nor between what
    // `launch` enqueues. Thread-safe.
    void use(const driver::StreamState& stream, const Weights& weights, std::size_t workspace_bytes,
             const PackedWeights::Pack& pack, const Launch& launch) {
        const std::scoped_lock lock(mutex_);
        Parts parts;
        if (workspace_bytes > 0) parts.workspace = workspaces_.get(stream, workspace_bytes);
        if (packed_bytes_ > 0) parts.packed = weights_.get(stream, weights, pack);
        launch(parts);
    }

private:
    Allocate allocate_;
    std::size_t packed_bytes_;
    std::mutex mutex_;
    PackedWeights weights_;
    Workspaces workspaces_;
};

}  // namespace convt_jit
