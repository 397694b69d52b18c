// Clocks: how fast the card runs just now, as its driver tells.
#pragma once

namespace convt_jit::tools {

// In MHz; 0: not known. Only read: no setting of the card is touched.
struct Clocks {
    int multiprocessors = 0;
    int memory = 0;
};

// Of the only card of the machine; of several it is not known which one is meant.
[[nodiscard]] Clocks clocks_now();

}  // namespace convt_jit::tools
