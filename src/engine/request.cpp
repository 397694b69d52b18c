#include "engine/request.h"

namespace convt_jit {

Request make_request(const Layer& layer, const Arch& arch, const PrepareOptions& options) {
    Request request;
    request.plan = choose(layer, arch, {options.plan, options.exact_nonfinite});
    request.arch = compile_arch(request.plan, arch);
    request.layer = layer;
    request.layer.batch.reset();
    request.layer.input = {};
    request.asked_layer = to_string(layer);
    request.asked_arch = to_string(arch);
    request.asked_plan = options.plan;
    request.asked_exact = options.exact_nonfinite;
    return request;
}

Request generic(const Request& request) {
    Request other = request;
    other.plan = generic_plan(request.plan, request.layer, request.arch);
    other.arch = compile_arch(other.plan, request.arch);
    return other;
}

}  // namespace convt_jit
