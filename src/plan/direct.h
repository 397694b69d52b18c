// DirectTile: the tile of the `direct` family (templates/families/direct.cu). Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace convt_jit {

// A block owns a tile of positions q (depth, height, width), all phases of it and `channels()` output channels of one
// group; it works through the phases in passes. A thread owns `positions_per_thread` positions of one phase and
// `channels_per_thread` channels.
struct DirectTile {
    std::array<int, 3> positions = {1, 1, 64};
    int positions_per_thread = 4;
    int channels_per_thread = 4;
    int channel_vectors = 1;     // groups of channels_per_thread in a block
    int row_phases = 1;          // (depth, height) phases in one pass
    int column_phases = 1;       // width phases in one pass
    int channel_chunk = 8;       // input channels staged at a time
    bool stage_input = true;     // the input tile goes through shared memory
    bool stage_weights = true;   // and so do the weights
    int partial_sum = 64;        // products that are added up before they join the total
    int unroll = 4;              // of the innermost tap loop

    [[nodiscard]] int block_positions() const { return positions[0] * positions[1] * positions[2]; }
    [[nodiscard]] int position_threads() const { return block_positions() / positions_per_thread; }
    [[nodiscard]] int threads() const { return position_threads() * row_phases * column_phases * channel_vectors; }
    [[nodiscard]] int channels() const { return channels_per_thread * channel_vectors; }
    friend bool operator==(const DirectTile&, const DirectTile&) = default;
};

// Shared memory of a block, in bytes, in the order in which it is laid out.
struct DirectShared {
    std::size_t input = 0, weights = 0, outputs = 0;
    [[nodiscard]] std::size_t total() const { return input + weights + outputs; }
};
[[nodiscard]] DirectShared direct_shared(const Layer& layer, const DirectTile& tile);

// Empty where the tile can serve the layer on the arch, else why not.
[[nodiscard]] std::string direct_unsupported(const Layer& layer, const Arch& arch, const DirectTile& tile);
// The tile that is used where nobody says another. There is one for every valid layer.
[[nodiscard]] DirectTile direct_default(const Layer& layer, const Arch& arch);

}  // namespace convt_jit
