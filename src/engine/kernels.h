// Kernels: the loaded kernels of one engine by name, each built once.
#pragma once

#include "engine/kernel_impl.h"

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace convt_jit {

class Kernels {
public:
    using Built = std::shared_ptr<const Kernel::Impl>;

    // Built by the first caller while the others wait. A build that fails is forgotten, so that the next caller tries
    // again. Callers get copies that share all but the kernel's memory, with `origin` as the origin of their plan.
    // Thread-safe.
    [[nodiscard]] Built get(const std::string& name, PlanOrigin origin, const std::function<Built()>& build);
    // Null where it is not built yet. Thread-safe.
    [[nodiscard]] Built find(const std::string& name, PlanOrigin origin);
    // Drops those that are built; those in use live on. Thread-safe.
    void clear();

private:
    std::mutex mutex_;
    std::unordered_map<std::string, std::shared_future<Built>> by_name_;
};

}  // namespace convt_jit
