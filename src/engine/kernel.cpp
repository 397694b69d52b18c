#include "convt_jit/kernel.h"

#include "convt_jit/error.h"
#include "engine/kernel_impl.h"
#include "plan/volume.h"
#include "render/render.h"
#include "templates/device/args.cuh"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace convt_jit {
namespace {

const Kernel::Impl& made(const Kernel::Impl* kernel) {
    if (kernel == nullptr) throw LayerError("kernel", "empty", "a kernel that Engine::prepare returned");
    return *kernel;
}

const Kernel::Impl& current(const Kernel::Impl* kernel) {
    const Kernel::Impl& first = made(kernel);
    const Kernel::Impl* next = first.successor != nullptr ? first.successor->get() : nullptr;
    return next != nullptr ? *next : first;
}

std::size_t y_element_bytes(const Kernel::Impl& kernel) {
    return std::holds_alternative<ReferenceTile>(kernel.plan.tile) ? sizeof(double) : size_of(kernel.layer.dtype);
}

// Names the tensor in the error; formats only when there is one.
void check_pointer(const char* name, const void* pointer, bool wanted, std::size_t alignment) {
    if (wanted && pointer == nullptr) throw LayerError(name, "null", "a device pointer");
    if (!wanted && pointer != nullptr) throw LayerError(name, "set", "null: the layer does not use it");
    if (reinterpret_cast<std::uintptr_t>(pointer) % alignment != 0)
        throw LayerError(name, fmt::format("{}", pointer),
                         fmt::format("an address that is a multiple of {}", alignment));
}

void check_tensors(const Kernel::Impl& kernel, const Tensors& t) {
    const std::size_t element = size_of(kernel.layer.dtype);
    check_pointer("x", t.x, true, element);
    check_pointer("w", t.w, true, element);
    check_pointer("bias", t.bias, kernel.layer.bias, element);
    check_pointer("residual", t.residual, kernel.layer.epilogue.residual, element);
    check_pointer("scale", t.scale, kernel.layer.epilogue.affine, sizeof(float));
    check_pointer("shift", t.shift, kernel.layer.epilogue.affine, sizeof(float));
    check_pointer("y", t.y, true, y_element_bytes(kernel));
}

ConvtArgs arguments(const Kernel::Impl& kernel, const Tensors& t, const Shape& shape) {
    ConvtArgs args{t.x, t.w, t.bias, t.residual, t.scale, t.shift, t.y, nullptr, shape.batch, {}, {}, {}};
    const auto in = sizes_3d(shape.input);
    const auto out = sizes_3d(output_size(kernel.layer, shape.input));
    std::copy(in.begin(), in.end(), args.in);
    std::copy(out.begin(), out.end(), args.out);
    return args;
}

void simulate(const Kernel::Impl& kernel, const Tensors& t, const Shape& shape, const Geometry& geometry,
              const GridPart& part, const ConvtArgs& args) {
    const Sizes count = sizes(kernel.layer, shape);
    const auto range = [](const void* begin, std::int64_t elements, std::size_t element, bool writable,
                          const char* name) {
        return sim::Range{begin, static_cast<std::size_t>(elements) * element, writable, name};
    };
    const std::size_t element = size_of(kernel.layer.dtype);
    sim::LaunchOptions launch;
    std::copy(part.blocks.begin(), part.blocks.end(), launch.grid);
    launch.threads = geometry.threads;
    launch.shared_bytes = geometry.shared_bytes;
    launch.ranges = {range(t.x, count.x, element, false, "x"), range(t.w, count.w, element, false, "w"),
                     range(t.y, count.y, y_element_bytes(kernel), true, "y")};
    if (t.bias != nullptr) launch.ranges.push_back(range(t.bias, count.channels, element, false, "bias"));
    if (t.scale != nullptr) launch.ranges.push_back(range(t.scale, count.channels, sizeof(float), false, "scale"));
    if (t.shift != nullptr) launch.ranges.push_back(range(t.shift, count.channels, sizeof(float), false, "shift"));
    if (t.residual != nullptr && t.residual != t.y)
        launch.ranges.push_back(range(t.residual, count.y, element, false, "residual"));
    kernel.program->launch(launch, &args);
}

}  // namespace

const char* to_string(Origin origin) noexcept {
    switch (origin) {
        case Origin::memory:
            return "memory";
        case Origin::disk:
            return "disk";
        case Origin::compiler:
            return "compiler";
    }
    return "";
}

void Kernel::launch(const Tensors& tensors, const Shape& shape, StreamHandle stream) const {
    const Impl& kernel = current(impl_.get());
    validate(kernel.layer, shape);
    if (shape.batch == 0) return;
    check_tensors(kernel, tensors);
    check_index_width(kernel.layer, kernel.plan, shape);
    const Geometry launch = geometry(kernel.layer, kernel.plan, shape);
    ConvtArgs args = arguments(kernel, tensors, shape);
    for_each_part(launch.grid, [&](const GridPart& part) {
        std::copy(part.first.begin(), part.first.end(), args.first_block);
        if (kernel.module)
            kernel.module->launch(part.blocks.data(), launch.threads, launch.shared_bytes,
                                  static_cast<CUstream>(stream), &args);
        else
            simulate(kernel, tensors, shape, launch, part, args);
    });
}

const KernelInfo& Kernel::info() const { return current(impl_.get()).info; }
const Layer& Kernel::layer() const { return current(impl_.get()).layer; }
Device Kernel::device() const { return current(impl_.get()).device; }
bool Kernel::pending() const {
    const Impl& kernel = made(impl_.get());
    return kernel.successor != nullptr && kernel.successor->pending();
}
std::string Kernel::source() const {
    const Impl& kernel = current(impl_.get());
    return render(kernel.layer, kernel.plan, kernel.arch).text;
}

}  // namespace convt_jit
