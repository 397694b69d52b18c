#include "convt_jit/engine.h"

#include "engine/background.h"
#include "engine/build.h"
#include "engine/compiler.h"
#include "engine/kernels.h"
#include "engine/requests.h"
#include "engine/successor.h"
#include "log/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace convt_jit {
namespace {

CacheSettings settings_for(const EngineOptions& options) {
    CacheSettings settings = cache_settings();
    if (options.cache_dir && options.cache_dir->empty()) {
        settings.directory.reset();
        settings.layers.clear();
    } else if (options.cache_dir) {
        settings.directory = options.cache_dir;
    }
    if (options.cache_path) settings.layers = *options.cache_path;
    if (options.cache_max_bytes) settings.max_bytes = *options.cache_max_bytes;
    if (options.cache_wait) settings.wait = *options.cache_wait;
    if (options.cache_producer) settings.producer = *options.cache_producer;
    return settings;
}

Stores open_stores(const EngineOptions& options) {
    Stores stores{settings_for(options), std::make_shared<MemoryStore>(), nullptr};
    if (!stores.settings.directory)
        log::info("no disk cache: {}", options.cache_dir ? "switched off" : "no home directory");
    stores.disk = open_disk_stores(stores.settings, options.stop_waiting);
    return stores;
}

// Where a kernel is to run.
struct Site {
    Device device;
    std::optional<driver::Context> context;  // on a CUDA device
};

std::string name_of(const Request& request, const Site& site) {
    const std::string where = site.context ? fmt::format("{}.{}", site.device.ordinal(), site.context->id) : "sim";
    return fmt::format("{}|{}", request.name, where);
}

Kernel with_successor(Kernel::Impl kernel, std::shared_ptr<const Successor> successor) {
    kernel.successor = std::move(successor);
    return Kernel(std::make_shared<const Kernel::Impl>(std::move(kernel)));
}

}  // namespace

struct Engine::Impl {
    explicit Impl(const EngineOptions& options)
        : stores(open_stores(options)),
          requests([named = options.records] { return named ? TuningRecords(*named) : TuningRecords::standard(); }) {}

    [[nodiscard]] Kernels::Built get(const Request& request, const Site& site) {
        return kernels.get(name_of(request, site), request.plan_origin, [&] {
            return site.context ? build_for_cuda(request, site.device, *site.context, stores)
                                : build_for_simulator(request);
        });
    }

    [[nodiscard]] Kernel get_at_once(const Request& request, const Site& site) {
        if (auto kernel = kernels.find(name_of(request, site), request.plan_origin)) return Kernel(std::move(kernel));
        const Request other = generic(request);
        if (other.plan == request.plan || (site.context && is_cached(request, stores)))
            return Kernel(get(request, site));
        // The generic one first: both at once would only make it come later.
        auto kernel = get(other, site);
        return with_successor(*kernel, successor(request, site));
    }

    // The one that takes over from the generic kernel; all handles of one name share it.
    [[nodiscard]] std::shared_ptr<const Successor> successor(const Request& request, const Site& site) {
        const std::string name = name_of(request, site);
        const std::scoped_lock lock(mutex);
        auto& place = successors[name];
        if (place != nullptr) return place;
        const auto next = std::make_shared<Successor>();
        const auto run = [this, request, site, name, next] {
            try {
                next->become(get(request, site));
                const std::scoped_lock again(mutex);
                successors.erase(name);  // `kernels` has it from now on
            } catch (const std::exception& error) {
                // It stays in `successors`, so that nobody tries again.
                log::warning("\"{}\" stays with a generic kernel: {}", request.asked_layer, error.what());
                next->give_up();
            }
        };
        try {
            background.submit({run, [next] { next->give_up(); }});
        } catch (...) {
            successors.erase(name);
            throw;
        }
        place = next;
        return next;
    }

    void clear() {
        kernels.clear();
        requests.clear();
        const std::scoped_lock lock(mutex);
        std::erase_if(successors, [](const auto& item) { return !item.second->pending(); });
    }

    Stores stores;
    Requests requests;
    Kernels kernels;
    std::mutex mutex;
    std::unordered_map<std::string, std::shared_ptr<const Successor>> successors;  // by name: pending or failed
    Background background;                                                         // last: its threads use the others
};

Engine::Engine(const EngineOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Kernel Engine::prepare(const Layer& layer, const PrepareOptions& options) {
    Site site{options.device.value_or(Device::best()), std::nullopt};
    const std::shared_ptr<const Request> made = impl_->requests.get(layer, site.device, options);
    const Request& request = *made;
    if (site.device.is_cuda()) site.context = driver::context_for(site.device.ordinal());
    return options.policy == Policy::no_wait ? impl_->get_at_once(request, site) : Kernel(impl_->get(request, site));
}

Kernel Engine::prepare(const Layer& layer, Policy policy) { return prepare(layer, PrepareOptions(), policy); }

Kernel Engine::prepare(const Layer& layer, PrepareOptions options, Policy policy) {
    options.policy = policy;
    return prepare(layer, options);
}

KernelInfo Engine::compile(const Layer& layer, const std::string& arch, const PrepareOptions& options) {
    validate(layer);
    return compile_ahead(make_request(layer, parse_arch(arch), options), impl_->stores);
}

Rendered Engine::render(const Layer& layer, const std::string& arch, const PrepareOptions& options) {
    validate(layer);
    const Request request = make_request(layer, parse_arch(arch), options);
    const Source source = convt_jit::render(request.layer, request.plan, request.arch);
    return {to_string(request.plan), source.text, source.entry};
}

std::vector<std::string> Engine::plans(const Layer& layer, const std::string& arch, std::size_t most_per_family,
                                       const PrepareOptions& options) {
    std::vector<std::string> texts;
    for (const Plan& plan :
         candidates(layer, parse_arch(arch), most_per_family, {options.plan, options.exact_nonfinite}))
        texts.push_back(to_string(plan));
    return texts;
}

std::vector<ModelledPlan> Engine::modelled_plans(const Layer& layer, const std::string& arch,
                                                 std::size_t most_per_family, const PrepareOptions& options) {
    const Arch parsed = parse_arch(arch);
    std::vector<ModelledPlan> plans;
    for (const Plan& plan : candidates(layer, parsed, most_per_family, {options.plan, options.exact_nonfinite}))
        plans.push_back({to_string(plan), modelled_cycles(plan, layer, parsed)});
    // The first stays in front: it is what a layer gets that nobody tuned.
    std::stable_sort(plans.begin() + 1, plans.end(),
                     [](const ModelledPlan& a, const ModelledPlan& b) { return a.cycles < b.cycles; });
    return plans;
}

CacheWanted Engine::wanted(const Layer& layer, const std::string& arch, const PrepareOptions& options) {
    validate(layer);
    return convt_jit::wanted(make_request(layer, parse_arch(arch), options),
                             wanted_producer(cache_settings(), Remember::no));
}

void Engine::clear() { impl_->clear(); }

}  // namespace convt_jit
