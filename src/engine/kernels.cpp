#include "engine/kernels.h"

#include <chrono>
#include <utility>

namespace convt_jit {
namespace {

using Built = Kernels::Built;

// The same loaded kernel, with memory of its own and as this caller came to its plan.
Built own(Kernel::Impl kernel, PlanOrigin origin) {
    kernel.info.plan_origin = origin;
    if (kernel.memory != nullptr) kernel.memory = kernel.memory->another();
    return std::make_shared<const Kernel::Impl>(std::move(kernel));
}

// And as a prepare finds it that had nothing to do.
Built from_memory(Kernel::Impl kernel, PlanOrigin origin) {
    kernel.info.origin = Origin::memory;
    kernel.info.render_ms = kernel.info.compile_ms = kernel.info.load_ms = 0;
    return own(std::move(kernel), origin);
}

bool is_built(const std::shared_future<Built>& kernel) {
    return kernel.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

Built Kernels::get(const std::string& name, PlanOrigin origin, const std::function<Built()>& build) {
    std::promise<Built> promise;
    {
        std::unique_lock lock(mutex_);
        if (const auto found = by_name_.find(name); found != by_name_.end()) {
            const std::shared_future<Built> future = found->second;
            lock.unlock();
            return from_memory(*future.get(), origin);
        }
        by_name_.emplace(name, promise.get_future().share());
    }
    try {
        Built kernel = build();
        promise.set_value(kernel);
        return own(*kernel, origin);
    } catch (...) {
        {
            const std::scoped_lock lock(mutex_);
            by_name_.erase(name);
        }
        promise.set_exception(std::current_exception());
        throw;
    }
}

Built Kernels::find(const std::string& name, PlanOrigin origin) {
    std::shared_future<Built> future;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = by_name_.find(name);
        if (found == by_name_.end() || !is_built(found->second)) return nullptr;
        future = found->second;
    }
    return from_memory(*future.get(), origin);  // what has failed was forgotten before it was told
}

void Kernels::clear() {
    const std::scoped_lock lock(mutex_);
    std::erase_if(by_name_, [](const auto& item) { return is_built(item.second); });
}

}  // namespace convt_jit
