// DirectTile: the tile of the `direct` family (templates/families/direct/). Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/grid.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace convt_jit {

// A block owns a tile of positions q (depth, height, width), all phases of it and `channels()` output channels of one
// group; it works through the phases in passes. A thread owns `positions_per_thread` positions of one phase and
// `channels_per_thread` channels.
struct DirectTile {
    static constexpr std::string_view kFamily = "direct";

    std::array<int, 3> positions = {1, 1, 64};
    int positions_per_thread = 4;
    int channels_per_thread = 4;
    int channel_vectors = 1;    // groups of channels_per_thread in a block
    int row_phases = 1;         // (depth, height) phases in one pass
    int column_phases = 1;      // width phases in one pass
    int channel_chunk = 8;      // input channels staged at a time
    bool stage_input = true;    // the input tile goes through shared memory
    bool stage_weights = true;  // and so do the weights
    int partial_sum = 64;       // products that are added up before they join the total
    int unroll = 4;             // of the innermost tap loop

    template <class Tile, class Visit>
    static void fields(Tile& t, const Visit& visit) {
        visit("positions", "POSITIONS", t.positions);
        visit("per_thread", "POSITIONS_PER_THREAD", t.positions_per_thread);
        visit("channels", "CHANNELS_PER_THREAD", t.channels_per_thread);
        visit("vectors", "CHANNEL_VECTORS", t.channel_vectors);
        visit("row_phases", "ROW_PHASES", t.row_phases);
        visit("column_phases", "COLUMN_PHASES", t.column_phases);
        visit("chunk", "CHANNEL_CHUNK", t.channel_chunk);
        visit("stage_input", "STAGE_INPUT", t.stage_input);
        visit("stage_weights", "STAGE_WEIGHTS", t.stage_weights);
        visit("partial", "PARTIAL_SUM", t.partial_sum);
        visit("unroll", "UNROLL", t.unroll);
    }

    [[nodiscard]] int block_positions() const { return positions[0] * positions[1] * positions[2]; }
    [[nodiscard]] int position_threads() const { return block_positions() / positions_per_thread; }
    [[nodiscard]] int channels() const { return channels_per_thread * channel_vectors; }

    // What every family answers (src/plan/plan.h).
    [[nodiscard]] static DirectTile standard(const Layer& layer,
                                             const Arch& arch);  // there is one for every valid layer
    // The least code: for every layer, compiled in the least time.
    [[nodiscard]] static DirectTile generic();
    [[nodiscard]] std::string unsupported(const Layer& layer, const Arch& arch, bool exact_nonfinite) const;
    [[nodiscard]] int threads(const Layer&) const {
        return position_threads() * row_phases * column_phases * channel_vectors;
    }
    [[nodiscard]] std::size_t shared_bytes(const Layer& layer) const;
    [[nodiscard]] Grid grid(const Layer& layer, const Shape& shape) const;
    friend bool operator==(const DirectTile&, const DirectTile&) = default;
};

}  // namespace convt_jit
