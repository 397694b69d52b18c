// Bandwidth: what a card's memory was measured to reach.
#pragma once

#include "convt_jit/convt_jit.h"

namespace convt_jit::tools {

// Bytes per second of a copy on the device, read and written bytes counted. Takes 2 GiB for a moment.
[[nodiscard]] double copy_bytes_per_second(const Device& device);

}  // namespace convt_jit::tools
