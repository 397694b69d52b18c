#include "convt_jit/engine.h"

#include "cache/directory.h"
#include "cache/disk_store.h"
#include "cache/memory_store.h"
#include "convt_jit/error.h"
#include "engine/build.h"
#include "layer/fingerprint.h"
#include "log/log.h"
#include "plan/plan.h"
#include "render/render.h"

#include <fmt/format.h>

#include <future>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace convt_jit {
namespace {

// The simulator runs what a current data-centre GPU would.
constexpr Arch kSimulatedArch{90, 0};

Request make_request(const Layer& layer, const Arch& arch, const PrepareOptions& options) {
    Request request;
    request.plan = choose(layer, arch, {options.plan, options.exact_nonfinite});
    request.arch = compile_arch(request.plan, arch);
    request.layer = layer;
    request.layer.batch.reset();
    request.layer.input = {};
    return request;
}

Stores open_stores(const EngineOptions& options) {
    Stores stores;
    stores.memory = std::make_shared<MemoryStore>();
    const std::optional<std::string> directory = options.cache_dir ? options.cache_dir : default_cache_directory();
    if (directory && !directory->empty())
        stores.disk = std::make_shared<DiskStore>(*directory);
    else
        log::info("no disk cache: {}", options.cache_dir ? "switched off" : "no home directory");
    return stores;
}

// The same loaded kernel, as a prepare finds it that had nothing to do.
std::shared_ptr<const Kernel::Impl> from_memory(Kernel::Impl kernel) {
    kernel.info.origin = Origin::memory;
    kernel.info.render_ms = kernel.info.compile_ms = kernel.info.load_ms = 0;
    return std::make_shared<const Kernel::Impl>(std::move(kernel));
}

}  // namespace

struct Engine::Impl {
    using Future = std::shared_future<std::shared_ptr<const Kernel::Impl>>;

    explicit Impl(const EngineOptions& options) : stores(open_stores(options)) {}

    // The kernel under `name`, built by the first caller while the others wait. A build that fails is forgotten, so
    // that the next caller tries again.
    template <class Build>
    Kernel single_flight(const std::string& name, const Build& build) {
        std::promise<std::shared_ptr<const Kernel::Impl>> promise;
        {
            std::unique_lock lock(mutex);
            if (const auto found = kernels.find(name); found != kernels.end()) {
                const Future future = found->second;
                lock.unlock();
                return Kernel(from_memory(*future.get()));
            }
            kernels.emplace(name, promise.get_future().share());
        }
        try {
            auto kernel = build();
            promise.set_value(kernel);
            return Kernel(std::move(kernel));
        } catch (...) {
            {
                const std::scoped_lock lock(mutex);
                kernels.erase(name);
            }
            promise.set_exception(std::current_exception());
            throw;
        }
    }

    Stores stores;
    std::mutex mutex;
    std::unordered_map<std::string, Future> kernels;
};

Engine::Engine(const EngineOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Kernel Engine::prepare(const Layer& layer, const PrepareOptions& options) {
    validate(layer);
    const Device device = options.device.value_or(Device::best());
    const Arch arch = device.is_cuda() ? parse_arch(device.arch()) : kSimulatedArch;
    const Request request = make_request(layer, arch, options);
    const std::string name = fmt::format("{}|{}|", fingerprint(request.layer), to_string(request.plan));
    if (!device.is_cuda()) return impl_->single_flight(name + "sim", [&] { return build_for_simulator(request); });
    const driver::Context context = driver::context_for(device.ordinal());
    return impl_->single_flight(fmt::format("{}{}.{}", name, device.ordinal(), context.id),
                                [&] { return build_for_cuda(request, device, context, impl_->stores); });
}

KernelInfo Engine::compile(const Layer& layer, const std::string& arch, const PrepareOptions& options) {
    validate(layer);
    const Request request = make_request(layer, parse_arch(arch), options);
    KernelInfo info = describe(request);
    const auto entry = find_or_compile(request, impl_->stores, info);
    if (info.origin == Origin::compiler && impl_->stores.disk) impl_->stores.disk->put(info.key, *entry);
    return info;
}

Rendered Engine::render(const Layer& layer, const std::string& arch, const PrepareOptions& options) {
    validate(layer);
    const Request request = make_request(layer, parse_arch(arch), options);
    const Source source = convt_jit::render(request.layer, request.plan, request.arch);
    return {to_string(request.plan), source.text, source.entry};
}

void Engine::clear() {
    const std::scoped_lock lock(impl_->mutex);
    std::erase_if(impl_->kernels, [](const auto& item) {
        return item.second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    });
}

}  // namespace convt_jit
