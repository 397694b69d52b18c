#include "engine/launch.h"

#include "driver/context.h"
#include "driver/memory.h"
#include "plan/volume.h"
#include "sim/guarded_memory.h"
#include "templates/device/args.cuh"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <variant>
#include <vector>

namespace convt_jit {
namespace {

enum class Step { main, pack, reduce };

// The number of a kernel in the rendered source (other_entry_names).
std::size_t number(const Kernel::Impl& kernel, Step step) {
    if (step == Step::main) return 0;
    return step == Step::reduce && kernel.info.packed_bytes > 0 ? 2 : 1;
}

ConvtArgs arguments(const Kernel::Impl& kernel, const Tensors& t, const Shape& shape,
                    const KernelMemory::Parts& memory) {
    auto* const sums = static_cast<float*>(memory.workspace);
    ConvtArgs args{t.x, t.w, t.bias, t.residual, t.scale, t.shift, t.y, shape.batch, {}, {}, {}, memory.packed, sums};
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

// Of the main kernel and of the reducing one: what is written by one is not by the other.
Ranges ranges_of(const Kernel::Impl& kernel, const Tensors& t, const Shape& shape, const KernelMemory::Parts& memory,
                 Step step) {
    const Sizes count = sizes(kernel.layer, shape);
    const std::size_t element = size_of(kernel.layer.dtype);
    Ranges ranges;
    ranges.add("x", t.x, count.x, element);
    ranges.add("w", t.w, count.w, element);
    ranges.add("y", t.y, count.y, y_element_bytes(kernel), step == Step::reduce || memory.workspace == nullptr);
    ranges.add("bias", t.bias, count.channels, element);
    ranges.add("scale", t.scale, count.channels, sizeof(float));
    ranges.add("shift", t.shift, count.channels, sizeof(float));
    if (t.residual != t.y) ranges.add("residual", t.residual, count.y, element);
    ranges.add("packed", memory.packed, packed_bytes(kernel.layer, kernel.plan), 1);
    ranges.add("workspace", memory.workspace, workspace_bytes(kernel.layer, kernel.plan, shape), 1, step == Step::main);
    return ranges;
}

// One launch of one of the kernels. `ranges` is asked on the simulator alone.
template <class RangesOf>
void run(const Kernel::Impl& kernel, Step step, const std::array<std::uint32_t, 3>& blocks, const Geometry& geometry,
         const void* args, StreamHandle stream, const RangesOf& ranges) {
    if (kernel.module) {
        kernel.module->launch(blocks.data(), geometry.threads, geometry.shared_bytes, static_cast<CUstream>(stream),
                              args, number(kernel, step));
        return;
    }
    sim::LaunchOptions launch;
    launch.which = number(kernel, step);
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

void launch_main(const Kernel::Impl& kernel, const Tensors& tensors, const Shape& shape,
                 const KernelMemory::Parts& memory, StreamHandle stream) {
    ConvtArgs args = arguments(kernel, tensors, shape, memory);
    const auto run_all = [&](Step step, const Geometry& geometry) {
        for_each_part(geometry.grid, [&](const GridPart& part) {
            std::copy(part.first.begin(), part.first.end(), args.first_block);
            run(kernel, step, part.blocks, geometry, &args, stream,
                [&] { return ranges_of(kernel, tensors, shape, memory, step); });
        });
    };
    if (kernel.program && memory.workspace != nullptr)  // what is missing is NaN
        std::memset(memory.workspace, 0xff,
                    static_cast<std::size_t>(workspace_bytes(kernel.layer, kernel.plan, shape)));
    const int multiprocessors = kernel.module ? driver::device_facts(kernel.device.ordinal()).multiprocessors
                                              : std::numeric_limits<int>::max();  // the simulator does as it is told
    run_all(Step::main, geometry(kernel.layer, kernel.plan, shape, multiprocessors));
    if (reduces(kernel.plan)) run_all(Step::reduce, reduce_geometry(kernel.layer, kernel.plan, shape));
}

void launch_pack(const Kernel::Impl& kernel, const void* w, void* packed, StreamHandle stream) {
    const Geometry pack = pack_geometry(kernel.layer, kernel.plan);
    const PackArgs args{w, packed};
    run(kernel, Step::pack, {static_cast<std::uint32_t>(pack.grid.x), 1, 1}, pack, &args, stream, [&] {
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
