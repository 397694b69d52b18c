#include "engine/request.h"

#include "layer/fingerprint.h"

#include <fmt/format.h>

namespace convt_jit {

namespace {

std::string name_of(const Request& request) {
    return fmt::format("{}|{}", fingerprint(request.layer), to_string(request.plan));
}

}  // namespace

Request make_request(const Layer& layer, const Arch& arch, const PrepareOptions& options, const std::string& recorded) {
    Request request;
    const std::string& plan = options.plan.empty() ? recorded : options.plan;
    request.plan = choose(layer, arch, {plan, options.exact_nonfinite});
    request.plan_origin = !options.plan.empty() ? PlanOrigin::asked
                          : !recorded.empty()   ? PlanOrigin::record
                                                : PlanOrigin::standard;
    request.arch = compile_arch(request.plan, arch);
    request.layer = layer;
    request.layer.batch.reset();
    request.layer.input = {};
    request.asked_layer = to_string(layer);
    request.asked_arch = to_string(arch);
    request.asked_plan = options.plan;
    request.asked_exact = options.exact_nonfinite;
    request.name = name_of(request);
    return request;
}

Request generic(const Request& request) {
    Request other = request;
    other.plan = generic_plan(request.plan, request.layer, request.arch);
    other.arch = compile_arch(other.plan, request.arch);
    other.plan_origin = PlanOrigin::generic;
    other.name = name_of(other);
    return other;
}

}  // namespace convt_jit
