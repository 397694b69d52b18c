// Workspaces: the memory in which the kernels of one launch leave partial results for each other.
#pragma once

#include "driver/stream_state.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace convt_jit {

// One per stream, whose launches come one after the other, and one per stream and capture: graphs run when they like.
// One that is too small gives way to a larger one. Not thread-safe.
class Workspaces {
public:
    using Allocate = std::function<std::shared_ptr<void>(std::size_t bytes)>;

    explicit Workspaces(Allocate allocate) : allocate_(std::move(allocate)) {}

    // At least so many bytes.
    [[nodiscard]] void* get(const driver::StreamState& stream, std::size_t bytes);

private:
    struct Place {
        std::shared_ptr<void> memory;
        std::size_t bytes = 0;
        std::uint64_t id = 0;  // of the stream
    };

    Allocate allocate_;
    std::map<std::pair<const void*, std::uint64_t>, Place> places_;  // by name of the stream, and capture
    std::vector<std::shared_ptr<void>> in_graphs_;                   // too small for what came later in a capture
};

}  // namespace convt_jit
