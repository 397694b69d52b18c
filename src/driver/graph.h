// Graph: work that was captured from a stream, to be launched as a whole.
#pragma once

#include "driver/context.h"

#include <functional>

using CUstream = struct CUstream_st*;
using CUgraphExec = struct CUgraphExec_st*;

namespace convt_jit::driver {

class Graph {
public:
    // Captures what `enqueue` puts on the stream of that context. Throws DriverError, also where the driver is too old;
    // the stream is as it was then.
    Graph(const Context& context, CUstream stream, const std::function<void()>& enqueue);
    ~Graph();
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    void launch(CUstream stream) const;

private:
    Context context_;
    CUgraphExec executable_ = nullptr;
};

}  // namespace convt_jit::driver
