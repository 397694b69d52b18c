#include "engine/build.h"

#include "compile/nvrtc.h"
#include "convt_jit/error.h"
#include "layer/fingerprint.h"
#include "log/log.h"
#include "render/render.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <ctime>
#include <utility>

namespace convt_jit {
namespace {

class Stopwatch {
public:
    [[nodiscard]] double milliseconds() const {
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string producer() {
    const NvrtcVersion& v = Nvrtc::instance().version();
    return v.build.empty() ? fmt::format("nvrtc {}.{}", v.major, v.minor) : fmt::format("nvrtc {}", v.build);
}

KeyFields key_fields(const Source& source, const Arch& arch) {
    KeyFields key;
    key.source_digest = digest(source.text);
    key.options = fmt::format("{}", fmt::join(compile_options(arch), " "));
    key.arch = to_string(arch);
    key.producer = producer();
    return key;
}

std::string host_name() {
    char name[HOST_NAME_MAX + 1] = {};
    return gethostname(name, HOST_NAME_MAX) == 0 ? name : "";
}

std::shared_ptr<const Entry> compile(const Request& request, const Source& source, KeyFields key) {
    auto entry = std::make_shared<Entry>();
    entry->cubin = Nvrtc::instance().compile(source, request.arch).bytes;
    entry->key = std::move(key);
    Provenance& from = entry->provenance;
    from.library = version();
    from.host = host_name();
    from.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    from.layer = fingerprint(request.layer);
    from.family = family_name(request.plan);
    from.plan = to_string(request.plan);
    from.entry_point = source.entry;
    from.shared_bytes = shared_bytes_per_block(request.layer, request.plan);
    return entry;
}

std::unique_ptr<const driver::Module> load(const Entry& entry, const driver::Context& context, KernelInfo& info) {
    const Stopwatch watch;
    auto module =
        std::make_unique<const driver::Module>(context, entry.cubin, entry.provenance.entry_point, info.shared_bytes);
    info.load_ms = watch.milliseconds();
    info.registers = module->facts().registers;
    info.spill_bytes = module->facts().local_bytes;
    return module;
}

}  // namespace

KernelInfo describe(const Request& request) {
    KernelInfo info;
    info.layer = fingerprint(request.layer);
    info.family = family_name(request.plan);
    info.plan = to_string(request.plan);
    info.arch = to_string(request.arch);
    info.threads = static_cast<int>(threads_per_block(request.plan));
    info.shared_bytes = shared_bytes_per_block(request.layer, request.plan);
    return info;
}

std::shared_ptr<const Entry> find_or_compile(const Request& request, const Stores& stores, KernelInfo& info) {
    const Stopwatch rendering;
    const Source source = render(request.layer, request.plan, request.arch);
    info.render_ms = rendering.milliseconds();
    KeyFields fields = key_fields(source, request.arch);
    info.key = digest(fields);

    for (const auto& [store, origin] :
         {std::pair<Store*, Origin>{stores.memory.get(), Origin::memory}, {stores.disk.get(), Origin::disk}}) {
        if (store == nullptr) continue;
        if (auto entry = store->find(info.key)) {
            info.origin = origin;
            log::debug("{} for {}: found in {}", info.key, info.arch, store->describe());
            if (origin == Origin::disk && stores.memory) stores.memory->put(info.key, entry);
            return entry;
        }
    }

    const Stopwatch compiling;
    auto entry = compile(request, source, std::move(fields));
    info.compile_ms = compiling.milliseconds();
    info.origin = Origin::compiler;
    log::info("compiled \"{}\" for {} in {:.0f} ms", info.layer, info.arch, info.compile_ms);
    if (stores.memory) stores.memory->put(info.key, entry);
    return entry;
}

std::shared_ptr<const Kernel::Impl> build_for_cuda(const Request& request, const Device& device,
                                                   const driver::Context& context, const Stores& stores) {
    KernelInfo info = describe(request);
    auto entry = find_or_compile(request, stores, info);
    std::unique_ptr<const driver::Module> module;
    try {
        module = load(*entry, context, info);
    } catch (const DriverError& error) {
        if (info.origin == Origin::compiler) throw;
        // What a store gave us cannot be used here, whatever its checksum says: build it anew, once.
        log::warning("a cached kernel for \"{}\" does not load ({}); compiling it again", info.layer, error.what());
        entry = find_or_compile(request, {}, info);
        module = load(*entry, context, info);
    }
    // Published only after it has been seen to load.
    if (info.origin == Origin::compiler && stores.disk) stores.disk->put(info.key, *entry);
    return std::make_shared<const Kernel::Impl>(
        Kernel::Impl{request.layer, request.plan, request.arch, device, std::move(info), std::move(module), nullptr});
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
    return std::make_shared<const Kernel::Impl>(Kernel::Impl{
        request.layer, request.plan, request.arch, Device::simulator(), std::move(info), nullptr, std::move(program)});
}

}  // namespace convt_jit
