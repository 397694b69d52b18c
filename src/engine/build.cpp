#include "engine/build.h"

#include "convt_jit/error.h"
#include "engine/compiler.h"
#include "engine/launch.h"
#include "engine/stopwatch.h"
#include "layer/fingerprint.h"
#include "log/log.h"
#include "render/prologue.h"

#include <fmt/format.h>

#include <utility>

namespace convt_jit {
namespace {

KernelInfo describe(const Request& request) {
    KernelInfo info;
    info.layer = fingerprint(request.layer);
    info.family = family_name(request.plan);
    info.plan = to_string(request.plan);
    info.plan_origin = request.plan_origin;
    info.arch = to_string(request.arch);
    info.threads = static_cast<int>(threads_per_block(request.layer, request.plan));
    info.shared_bytes = shared_bytes_per_block(request.layer, request.plan);
    info.packed_bytes = static_cast<std::size_t>(packed_bytes(request.layer, request.plan));
    return info;
}

std::unique_ptr<const driver::Module> load(const Entry& entry, const Request& request, const driver::Context& context,
                                           KernelInfo& info) {
    const Stopwatch watch;
    const std::string& main = entry.provenance.entry_point;
    auto module = std::make_unique<const driver::Module>(context, entry.cubin, main, info.shared_bytes,
                                                         other_entry_names(request.layer, request.plan, main));
    info.load_ms = watch.milliseconds();
    info.registers = module->facts().registers;
    info.spill_bytes = module->facts().local_bytes;
    return module;
}

std::shared_ptr<KernelMemory> memory_for(const Request& request, const std::optional<driver::Context>& context) {
    const auto packed = static_cast<std::size_t>(packed_bytes(request.layer, request.plan));
    if (packed == 0 && !reduces(request.plan)) return nullptr;
    return std::make_shared<KernelMemory>([context](std::size_t bytes) { return allocate(context, bytes); }, packed);
}

// Without a compiler nothing can be done about a kernel that does not load.
void require_compiler(const CacheSettings& settings, const DriverError& error, const KernelInfo& info) try {
    static_cast<void>(open_compiler(settings));
} catch (const CompileError& absent) {
    throw DriverError(fmt::format("the cached kernel {} for \"{}\" does not load: {}\nIt cannot be compiled again: {}",
                                  info.key, info.layer, error.what(), absent.what()),
                      error.call(), error.code(), error.name());
}

}  // namespace

std::shared_ptr<const Kernel::Impl> build_for_cuda(const Request& request, const Device& device,
                                                   const driver::Context& context, const Stores& stores) {
    KernelInfo info = describe(request);
    MachineCode code(request, stores, info);
    std::unique_ptr<const driver::Module> module;
    const auto load_it = [&](const Entry& entry) { module = load(entry, request, context, info); };
    auto entry = code.find();
    if (entry == nullptr) entry = code.make(load_it);
    if (module == nullptr) try {
            load_it(*entry);
        } catch (const DriverError& error) {
            require_compiler(stores.settings, error, info);
            // What a store gave us cannot be used here, whatever its checksum says: build it anew, once.
            log::warning("a cached kernel for \"{}\" does not load ({}); compiling it again", info.layer, error.what());
            code.replace(load_it);
        }
    auto memory = memory_for(request, context);
    return std::make_shared<const Kernel::Impl>(Kernel::Impl{request.layer, request.plan, request.arch, device,
                                                             std::move(info), std::move(module), nullptr,
                                                             std::move(memory), nullptr});
}

std::shared_ptr<const Kernel::Impl> build_for_simulator(const Request& request) {
    KernelInfo info = describe(request);
    const Stopwatch rendering;
    const Source source = render(request.layer, request.plan, request.arch);
    info.render_ms = rendering.milliseconds();
    const Stopwatch compiling;
    auto program = std::make_unique<const sim::Program>(source);
    info.compile_ms = compiling.milliseconds();
    info.arch = "sim";
    auto memory = memory_for(request, std::nullopt);
    return std::make_shared<const Kernel::Impl>(Kernel::Impl{request.layer, request.plan, request.arch,
                                                             Device::simulator(), std::move(info), nullptr,
                                                             std::move(program), std::move(memory), nullptr});
}

bool is_cached(const Request& request, const Stores& stores) {
    KernelInfo info = describe(request);
    return MachineCode(request, stores, info).exists();
}

KernelInfo compile_ahead(const Request& request, const Stores& stores) {
    KernelInfo info = describe(request);
    MachineCode code(request, stores, info);
    if (code.find() == nullptr) static_cast<void>(code.make());
    return info;
}

}  // namespace convt_jit
