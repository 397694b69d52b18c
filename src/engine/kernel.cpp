#include "convt_jit/kernel.h"

#include "convt_jit/error.h"
#include "engine/kernel_impl.h"
#include "engine/launch.h"
#include "render/render.h"

#include <fmt/format.h>

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

const char* to_string(PlanOrigin origin) noexcept {
    switch (origin) {
        case PlanOrigin::asked:
            return "asked";
        case PlanOrigin::record:
            return "record";
        case PlanOrigin::standard:
            return "default";
        case PlanOrigin::generic:
            return "generic";
    }
    return "";
}

void Kernel::launch(const Tensors& tensors, const Shape& shape, StreamHandle stream) const {
    const Impl& kernel = current(impl_.get());
    validate(kernel.layer, shape);
    if (shape.batch == 0) return;
    check_tensors(kernel, tensors);
    check_index_width(kernel.layer, kernel.plan, shape);
    const auto launch = [&](const KernelMemory::Parts& memory) { launch_main(kernel, tensors, shape, memory, stream); };
    if (kernel.memory == nullptr)
        launch({});
    else
        kernel.memory->use(
            stream_state(kernel, stream), {tensors.w, tensors.weights_version},
            static_cast<std::size_t>(convt_jit::workspace_bytes(kernel.layer, kernel.plan, shape)),
            [&](void* packed) { launch_pack(kernel, tensors.w, packed, stream); }, launch);
}

void Kernel::pack_weights(const void* w, std::uint64_t version, StreamHandle stream) const {
    const Impl& kernel = current(impl_.get());
    check_pointer("w", w, true, size_of(kernel.layer.dtype));
    if (kernel.info.packed_bytes == 0 || version == 0) return;
    kernel.memory->use(
        stream_state(kernel, stream), {w, version}, 0, [&](void* packed) { launch_pack(kernel, w, packed, stream); },
        [](const KernelMemory::Parts&) {});
}

std::size_t Kernel::workspace_bytes(const Shape& shape) const {
    const Impl& kernel = current(impl_.get());
    validate(kernel.layer, shape);
    return static_cast<std::size_t>(convt_jit::workspace_bytes(kernel.layer, kernel.plan, shape));
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
