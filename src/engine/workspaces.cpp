#include "engine/workspaces.h"

namespace convt_jit {

void* Workspaces::get(const driver::StreamState& stream, std::size_t bytes) {
    Place& place = places_[{stream.name, stream.capture}];
    if (place.bytes >= bytes && place.id == stream.id) return place.memory.get();
    if (stream.capture != 0 && place.memory != nullptr) in_graphs_.push_back(std::move(place.memory));
    // Elsewhere freeing waits for the work that uses it, also where that is another stream's that had the name before.
    place = {nullptr, 0, stream.id};
    place.memory = allocate_(bytes);
    place.bytes = bytes;
    return place.memory.get();
}

}  // namespace convt_jit
