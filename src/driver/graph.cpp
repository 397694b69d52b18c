#include "driver/graph.h"

#include "convt_jit/error.h"
#include "driver/api.h"
#include "driver/capture.h"

#include <memory>

namespace convt_jit::driver {
namespace {

void require_graphs(const Api& cuda) {
    if (cuda.capture_begin != nullptr && cuda.capture_end != nullptr && cuda.graph_instantiate != nullptr &&
        cuda.graph_launch != nullptr && cuda.graph_destroy != nullptr && cuda.graph_exec_destroy != nullptr &&
        cuda.event_record_with_flags != nullptr)
        return;
    throw_failed(CUDA_ERROR_NOT_SUPPORTED, "cuGraphInstantiateWithFlags", "recording a CUDA graph: the driver is old");
}

void require_alive(const Context& context) {
    if (!alive(context)) throw_failed(CUDA_ERROR_CONTEXT_IS_DESTROYED, "cuGraphLaunch", "launching a CUDA graph");
}

struct Destroy {
    void operator()(CUgraph_st* graph) const { api().graph_destroy(graph); }
};

}  // namespace

Graph::Graph(const Context& context, CUstream stream, const std::function<void()>& enqueue) : context_(context) {
    const Api& cuda = api();
    require_graphs(cuda);
    require_alive(context);
    const Current current(context);
    check(cuda.capture_begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
    CUgraph captured = nullptr;
    try {
        enqueue();
    } catch (...) {
        cuda.capture_end(stream, &captured);  // one that was broken gives none
        if (captured != nullptr) cuda.graph_destroy(captured);
        throw;
    }
    check(cuda.capture_end(stream, &captured), "cuStreamEndCapture");
    const std::unique_ptr<CUgraph_st, Destroy> graph(captured);
    check(cuda.graph_instantiate(&executable_, captured, 0), "cuGraphInstantiateWithFlags");
}

Graph::~Graph() {
    if (!alive(context_)) return;  // went with its context
    try {
        const Current current(context_);
        const RelaxedCapture relaxed;
        api().graph_exec_destroy(executable_);
    } catch (const DriverError&) {
        // Nothing that a destructor could do about it.
    }
}

void Graph::launch(CUstream stream) const {
    require_alive(context_);
    const Current current(context_);
    check(api().graph_launch(executable_, stream), "cuGraphLaunch");
}

}  // namespace convt_jit::driver
