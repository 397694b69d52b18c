#include "engine/packed_weights.h"

namespace convt_jit {

const void* PackedWeights::get(const driver::StreamState& stream, const Weights& weights, const Pack& pack) {
    Place& place = place_for(stream, weights);
    if (weights.version == 0 || place.held != weights) {
        place.held = {};  // where packing fails, nobody knows what is there
        pack(place.memory.get());
        if (weights.version != 0) place.held = weights;
    }
    return place.memory.get();
}

PackedWeights::Place& PackedWeights::place_for(const driver::StreamState& stream, const Weights& weights) {
    if (stream.capture == 0) return place_outside_captures(stream, weights);
    const auto outside = places_.find({stream.name, 0});
    if (outside != places_.end() && weights.version != 0 && outside->second.held == weights) {
        outside->second.in_graph = true;
        return outside->second;
    }
    Place& place = places_[{stream.name, stream.capture}];
    if (place.memory == nullptr) place.memory = allocate_();
    return place;
}

PackedWeights::Place& PackedWeights::place_outside_captures(const driver::StreamState& stream, const Weights& weights) {
    Place& place = places_[{stream.name, 0}];
    const bool another_stream = place.id != stream.id;  // one that was destroyed had the name before
    if (place.in_graph && (another_stream || weights.version == 0 || place.held != weights)) {
        in_graphs_.push_back(std::move(place.memory));
        place = {};
    }
    // What the other stream still has to do may use its memory, and freeing it waits for that.
    if (another_stream) place = {nullptr, {}, stream.id, false};
    if (place.memory == nullptr) place.memory = allocate_();
    place.id = stream.id;
    return place;
}

}  // namespace convt_jit
