// Geometry: grid, block and shared memory of one launch. Pure function of layer, plan and shape.
#pragma once

#include "convt_jit/layer.h"
#include "plan/grid.h"
#include "plan/plan.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace convt_jit {

struct Geometry {
    Grid grid;
    std::uint32_t threads = 1;
    std::size_t shared_bytes = 0;
};

// multiprocessors: of the GPU; a grid that is made for more is made smaller.
[[nodiscard]] Geometry geometry(const Layer& layer, const Plan& plan, const Shape& shape,
                                int multiprocessors = std::numeric_limits<int>::max());
// Threads and shared memory do not depend on the shape.
[[nodiscard]] std::uint32_t threads_per_block(const Layer& layer, const Plan& plan);
[[nodiscard]] std::size_t shared_bytes_per_block(const Layer& layer, const Plan& plan);

// Bytes of the weights in the order in which the kernel loads them; 0 where it reads them as they are.
[[nodiscard]] std::int64_t packed_bytes(const Layer& layer, const Plan& plan);
// Of the kernel that packs them: a thread for every 16 bytes.
[[nodiscard]] Geometry pack_geometry(const Layer& layer, const Plan& plan);

// Whether a second kernel adds up partial sums that the main one leaves in a workspace, and finishes them.
[[nodiscard]] bool reduces(const Plan& plan);
// 0 where none does.
[[nodiscard]] std::int64_t workspace_bytes(const Layer& layer, const Plan& plan, const Shape& shape);
// Of that kernel.
[[nodiscard]] Geometry reduce_geometry(const Layer& layer, const Plan& plan, const Shape& shape);

// Samples that a block counts offsets through.
[[nodiscard]] int samples_at_once(const Plan& plan);
// Whether offsets within so many samples of that shape do not provably fit 32 bits.
[[nodiscard]] bool needs_index64(const Layer& layer, const Shape& shape, int samples = 1);
// Throws LayerError where samples of that shape need 64-bit offsets and the plan has 32-bit ones.
void check_index_width(const Layer& layer, const Plan& plan, const Shape& shape);

}  // namespace convt_jit
