#include "engine/requests.h"

#include "log/log.h"

#include <fmt/format.h>

#include <utility>

namespace convt_jit {
namespace {

// An application whose sizes are never the same twice would fill the memory.
constexpr std::size_t kMost = 1024;

Arch arch_of(const Device& device, const std::string& plan) {
    return device.is_cuda() ? parse_arch(device.arch()) : simulated_arch(plan);
}

}  // namespace

std::shared_ptr<const Request> Requests::get(const Layer& layer, const Device& device, const PrepareOptions& options) {
    validate(layer);  // first: one that is not valid may have the text of one that is
    const std::string key =
        fmt::format("{}|{}|{}|{:d}", to_string(layer), device.ordinal(), options.plan, options.exact_nonfinite);
    {
        const std::scoped_lock lock(mutex_);
        if (const auto found = made_.find(key); found != made_.end()) return found->second;
    }
    auto request = std::make_shared<const Request>(make(layer, device, options));
    const std::scoped_lock lock(mutex_);
    if (made_.size() >= kMost) made_.clear();
    made_.emplace(key, request);
    return request;
}

Request Requests::make(const Layer& layer, const Device& device, const PrepareOptions& options) {
    if (!options.plan.empty() || options.exact_nonfinite)
        return make_request(layer, arch_of(device, options.plan), options);
    std::call_once(loaded_, [&] { records_ = load_(); });
    const auto choice = records_.empty() ? std::nullopt : records_.find(layer, gpu_model(device));
    if (!choice) return make_request(layer, arch_of(device, options.plan), options);
    log::debug("\"{}\": the plan of the tuning record for {}, {} ({})", to_string(layer), choice->record.gpu.name,
               choice->record.shape_class, choice->source);
    return make_request(layer, arch_of(device, choice->plan), options, choice->plan);
}

void Requests::clear() {
    const std::scoped_lock lock(mutex_);
    made_.clear();
}

}  // namespace convt_jit
