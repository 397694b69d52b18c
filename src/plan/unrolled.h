// UnrolledTile: the tile of the `unrolled` family (templates/families/unrolled/). Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/grid.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

// A block owns a tile of positions q (height, width) of one output depth, all phases of it and `block_channels` output
// channels of one group. A thread owns rows x columns positions, `channels` output channels and all column phases.
struct UnrolledTile {
    static constexpr std::string_view kFamily = "unrolled";

    // What row phases do in a block.
    static constexpr int kTogether = 0;    // a thread has the sums of all of them
    static constexpr int kInTurn = 1;      // one after the other, from a tile that stays in shared memory
    static constexpr int kSideBySide = 2;  // each has threads of its own

    // Which blocks run side by side.
    static constexpr int kInputs = 0;  // those that read the same input
    static constexpr int kRows = 1;    // those that write to the same rows
    static constexpr int kPlanes = 2;  // those that write to the same planes

    std::array<int, 2> positions = {4, 128};
    int rows = 1;
    int columns = 4;
    int channels = 1;
    int channel_threads = 1;    // threads side by side over the output channels
    int block_channels = 1;     // channels * channel_threads * turns
    int reduction_threads = 1;  // threads that share the input channels of one output
    int chunk = 4;              // input channels that are staged at a time
    int stages = 2;             // chunks in shared memory
    int row_phases = kTogether;
    int unroll = 1;       // of the loop over the channels of a chunk
    int join = 0;         // chunks that are added up before they join the total; 0: one running sum
    int min_blocks = 1;   // that the compiler is to leave registers for on a multiprocessor
    int store_width = 1;  // without slabs: elements of one store, where a launch's pointers and rows allow it; else one
    bool slabs = true;    // rows are put together in shared memory, and stored as whole lines wherever they begin
    int order = kPlanes;  // of the blocks

    template <class Tile, class Visit>
    static void fields(Tile& t, const Visit& visit) {
        visit("positions", "POSITIONS", t.positions);
        visit("rows", "ROWS", t.rows);
        visit("columns", "COLUMNS", t.columns);
        visit("channels", "CHANNELS", t.channels);
        visit("channel_threads", "CHANNEL_THREADS", t.channel_threads);
        visit("block_channels", "BLOCK_CHANNELS", t.block_channels);
        visit("reduction", "REDUCTION_THREADS", t.reduction_threads);
        visit("chunk", "CHUNK", t.chunk);
        visit("stages", "STAGES", t.stages);
        visit("row_phases", "ROW_PHASES", t.row_phases);
        visit("unroll", "UNROLL", t.unroll);
        visit("join", "JOIN", t.join);
        visit("min_blocks", "MIN_BLOCKS", t.min_blocks);
        visit("store_width", "STORE_WIDTH", t.store_width);
        visit("slabs", "SLABS", t.slabs);
        visit("order", "ORDER", t.order);
    }

    // What every family answers (src/plan/plan.h). `standard` is the tile of the least modelled time; where no tile
    // serves the layer, one that `unsupported` refuses.
    [[nodiscard]] static UnrolledTile standard(const Layer& layer, const Arch& arch);
    [[nodiscard]] std::string unsupported(const Layer& layer, const Arch& arch, bool exact_nonfinite) const;
    // Needs a layer of which unsupported() did not complain, since row phases may have threads of their own.
    [[nodiscard]] int threads(const Layer& layer) const;
    [[nodiscard]] std::size_t shared_bytes(const Layer& layer) const;
    [[nodiscard]] Grid grid(const Layer& layer, const Shape& shape) const;
    // Clock cycles of a whole GPU, in one unit for all families that have a model; infinite where the tile does not
    // serve the layer.
    [[nodiscard]] double modelled_cycles(const Layer& layer, const Arch& arch) const;
    friend bool operator==(const UnrolledTile&, const UnrolledTile&) = default;
};

// Tiles that may serve the layer, best modelled time first, at most `most`.
[[nodiscard]] std::vector<UnrolledTile> unrolled_candidates(const Layer& layer, const Arch& arch, std::size_t most);

}  // namespace convt_jit
