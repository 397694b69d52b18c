// PackedWeights: the memory in which a kernel keeps its weights in the order in which it loads them, and what is there.
#pragma once

#include "driver/stream_state.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace convt_jit {

// Weights as a caller names them. Version 0: they may have changed since the last launch.
struct Weights {
    const void* w = nullptr;
    std::uint64_t version = 0;
    friend bool operator==(const Weights&, const Weights&) = default;
};

// One place per stream, so that launches on different streams need not wait for each other. All of them stay as long as
// this object does: work that is enqueued, and graphs, may use them.
//
// A graph runs again and again, at times that nobody tells us, beside and between launches. So:
// - what a capture records is never taken for done by anything outside of that capture;
// - packings that a capture records write to a place of that capture alone;
// - a place that a captured launch reads, since the weights were there already, is not written again.
// Not thread-safe.
class PackedWeights {
public:
    using Allocate = std::function<std::shared_ptr<void>()>;  // memory for the weights of one place
    using Pack = std::function<void(void* to)>;               // enqueues the packing

    explicit PackedWeights(Allocate allocate) : allocate_(std::move(allocate)) {}

    // Packs on the stream what is not known to be there. Where it is then, for launches that follow on the stream.
    [[nodiscard]] const void* get(const driver::StreamState& stream, const Weights& weights, const Pack& pack);

private:
    struct Place {
        std::shared_ptr<void> memory;
        Weights held;           // version 0: nothing that could be used again
        std::uint64_t id = 0;   // of the stream
        bool in_graph = false;  // a graph may read it
    };
    [[nodiscard]] Place& place_for(const driver::StreamState& stream, const Weights& weights);
    [[nodiscard]] Place& place_outside_captures(const driver::StreamState& stream, const Weights& weights);

    Allocate allocate_;
    std::map<std::pair<const void*, std::uint64_t>, Place> places_;  // by name of the stream, and capture
    std::vector<std::shared_ptr<void>> in_graphs_;                   // given up by their places
};

}  // namespace convt_jit
