// StreamState: which stream a handle names, and whether it is being captured.
#pragma once

#include <cstdint>

using CUstream = struct CUstream_st*;

namespace convt_jit::driver {

struct StreamState {
    // Tells streams apart that exist at the same time: the handle, and for the handle of per-thread default streams
    // something of the calling thread.
    const void* name = nullptr;
    // Another one where a destroyed stream's handle was given out again; 0 before CUDA 12.0, which has none, and while
    // the stream is captured.
    std::uint64_t id = 0;
    // Of the capture that is under way, unique over the life of the process; 0 where there is none.
    std::uint64_t capture = 0;
};

// Of a stream of the current context. Harmless to a capture. What cannot be told is 0.
[[nodiscard]] StreamState stream_state(CUstream stream);

}  // namespace convt_jit::driver
