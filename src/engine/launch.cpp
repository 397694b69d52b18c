#include "engine/launch.h"

#include "driver/memory.h"
#include "plan/volume.h"
#include "sim/guarded_memory.h"
#include "templates/device/args.cuh"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace convt_jit {
namespace {

enum Which : std::size_t { kMain, kPack };  // in the order of the rendered source

ConvtArgs arguments(const Kernel::Impl& kernel, const Tensors& t, const Shape& shape, const void* packed) {
    ConvtArgs args{t.x, t.w, t.bias, t.residual, t.scale, t.shift, t.y, shape.batch, {}, {}, {}, packed};
    const auto in = sizes_3d(shape.input);
    const auto out = sizes_3d(output_size(kernel.layer, shape.input));
    std::copy(in.begin(), in.end(), args.in);
    std::copy(out.begin(), out.end(), args.out);
    return args;
}

// What the simulated kernel may touch.
class Ranges {
public:
    void add(const char* name, const void* begin, std::int64_t elements, std::size_t element, bool writable = false) {
        if (begin != nullptr) all_.push_back({begin, static_cast<std::size_t>(elements) * element, writable, name});
    }
    [[nodiscard]] const std::vector<sim::Range>& all() const { return all_; }

private:
    std::vector<sim::Range> all_;
};

Ranges ranges_of(const Kernel::Impl& kernel, const Tensors& t, const Shape& shape, const void* packed) {
    const Sizes count = sizes(kernel.layer, shape);
    const std::size_t element = size_of(kernel.layer.dtype);
    Ranges ranges;
    ranges.add("x", t.x, count.x, element);
    ranges.add("w", t.w, count.w, element);
    ranges.add("y", t.y, count.y, y_element_bytes(kernel), true);
    ranges.add("bias", t.bias, count.channels, element);
    ranges.add("scale", t.scale, count.channels, sizeof(float));
    ranges.add("shift", t.shift, count.channels, sizeof(float));
    if (t.residual != t.y) ranges.add("residual", t.residual, count.y, element);
    ranges.add("packed", packed, packed_bytes(kernel.layer, kernel.plan), 1);
    return ranges;
}

// One launch of one of the kernels. `ranges` is asked on the simulator alone.
template <class RangesOf>
void run(const Kernel::Impl& kernel, Which which, const std::array<std::uint32_t, 3>& blocks, const Geometry& geometry,
         const void* args, StreamHandle stream, const RangesOf& ranges) {
    if (kernel.module) {
        kernel.module->launch(blocks.data(), geometry.threads, geometry.shared_bytes, static_cast<CUstream>(stream),
                              args, which);
        return;
    }
    sim::LaunchOptions launch;
    launch.which = which;
    std::copy(blocks.begin(), blocks.end(), launch.grid);
    launch.threads = geometry.threads;
    launch.shared_bytes = geometry.shared_bytes;
    launch.ranges = ranges().all();
    kernel.program->launch(launch, args);
}

}  // namespace

std::size_t y_element_bytes(const Kernel::Impl& kernel) {
    return std::holds_alternative<ReferenceTile>(kernel.plan.tile) ? sizeof(double) : size_of(kernel.layer.dtype);
}

void launch_main(const Kernel::Impl& kernel, const Tensors& tensors, const Shape& shape, const void* packed,
                 StreamHandle stream) {
    const Geometry main = geometry(kernel.layer, kernel.plan, shape);
    ConvtArgs args = arguments(kernel, tensors, shape, packed);
    for_each_part(main.grid, [&](const GridPart& part) {
        std::copy(part.first.begin(), part.first.end(), args.first_block);
        run(kernel, kMain, part.blocks, main, &args, stream, [&] { return ranges_of(kernel, tensors, shape, packed); });
    });
}

void launch_pack(const Kernel::Impl& kernel, const void* w, void* packed, StreamHandle stream) {
    const Geometry pack = pack_geometry(kernel.layer, kernel.plan);
    const PackArgs args{w, packed};
    run(kernel, kPack, {static_cast<std::uint32_t>(pack.grid.x), 1, 1}, pack, &args, stream, [&] {
        const Layer& layer = kernel.layer;
        Ranges ranges;
        ranges.add("w", w, layer.in_channels * layer.out_channels_per_group() * taps(layer), size_of(layer.dtype));
        ranges.add("packed", packed, packed_bytes(layer, kernel.plan), 1, true);
        return ranges;
    });
}

driver::StreamState stream_state(const Kernel::Impl& kernel, StreamHandle stream) {
    if (kernel.module) return kernel.module->state_of(static_cast<CUstream>(stream));
    return {stream, 0, 0};
}

std::shared_ptr<void> allocate(const std::optional<driver::Context>& context, std::size_t bytes) {
    if (context) {
        const auto memory = std::make_shared<driver::DeviceMemory>(*context, bytes);
        return {memory, memory->data()};
    }
    const auto memory = std::make_shared<sim::GuardedMemory>(bytes);
    memory->poison();
    return {memory, memory->begin()};
}

}  // namespace convt_jit
