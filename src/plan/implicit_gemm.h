// ImplicitGemmTile: the tile of the `implicit_gemm` family (templates/families/implicit_gemm/). Pure functions.
#pragma once

#include "convt_jit/layer.h"
#include "plan/arch.h"
#include "plan/grid.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

// A block owns a tile of positions q (height, width) of one output depth and one row phase, all column phases of it and
// `block_channels` output channels of one group. Its warps share channels (`warps_m`) and positions
// (`warps_n`). Folded (src/plan/fold.h), it computes the folded layer: `block_channels` are then rows of the product,
// each a channel and one of the outputs that are taken together, and phases are those of the stride that is left.
struct ImplicitGemmTile {
    static constexpr std::string_view kFamily = "implicit_gemm";

    // Which blocks run side by side.
    static constexpr int kInputs = 0;  // those that read the same input
    static constexpr int kPlanes = 1;  // those that write to the same planes

    std::array<int, 2> positions = {4, 32};
    int block_channels = 64;
    int warps_m = 2, warps_n = 2;
    int chunk = 8;       // input channels that are staged at a time
    int stages = 3;      // chunks in shared memory
    int join = 0;        // steps of 8 words that tensor cores add up before they join the total; 0: all
    int min_blocks = 1;  // that the compiler is to leave registers for on a multiprocessor
    int order = kPlanes;
    int split = 1;      // blocks that share the sums of a tile, each some of its chunks; a second kernel adds them
    int warp_rows = 0;  // rows of positions of a warp; 0: whole rows if it has so many positions, else a part of one
    std::array<int, 2> fold = {1, 1};  // outputs of a channel (height, width) whose sums are rows of one product

    template <class Tile, class Visit>
    static void fields(Tile& t, const Visit& visit) {
        visit("positions", "POSITIONS", t.positions);
        visit("block_channels", "BLOCK_CHANNELS", t.block_channels);
        visit("warps_m", "WARPS_M", t.warps_m);
        visit("warps_n", "WARPS_N", t.warps_n);
        visit("chunk", "CHUNK", t.chunk);
        visit("stages", "STAGES", t.stages);
        visit("join", "JOIN", t.join);
        visit("min_blocks", "MIN_BLOCKS", t.min_blocks);
        visit("order", "ORDER", t.order);
        visit("split", "SPLIT", t.split);
        visit("warp_rows", "WARP_ROWS", t.warp_rows);
        visit("fold", "FOLD", t.fold);
    }

    // What every family answers (src/plan/plan.h). `standard` is the tile of the least modelled time; where no tile
    // serves the layer, one that `unsupported` refuses.
    [[nodiscard]] static ImplicitGemmTile standard(const Layer& layer, const Arch& arch);
    [[nodiscard]] std::string unsupported(const Layer& layer, const Arch& arch, bool exact_nonfinite) const;
    [[nodiscard]] int threads(const Layer&) const { return 32 * warps_m * warps_n; }
    [[nodiscard]] std::size_t shared_bytes(const Layer& layer) const;
    [[nodiscard]] Grid grid(const Layer& layer, const Shape& shape) const;
    [[nodiscard]] std::int64_t packed_bytes(const Layer& layer) const;
    [[nodiscard]] bool reduces() const { return split > 1; }
    [[nodiscard]] std::int64_t workspace_bytes(const Layer& layer, const Shape& shape) const;
    [[nodiscard]] Grid reduce_grid(const Layer& layer, const Shape& shape) const;
    // Clock cycles of a whole GPU, in one unit for all families that have a model; infinite where the tile does not
    // serve the layer.
    [[nodiscard]] double modelled_cycles(const Layer& layer, const Arch& arch) const;
    friend bool operator==(const ImplicitGemmTile&, const ImplicitGemmTile&) = default;
};

// Tiles that may serve the layer, best modelled time first, at most `most`.
[[nodiscard]] std::vector<ImplicitGemmTile> implicit_gemm_candidates(const Layer& layer, const Arch& arch,
                                                                     std::size_t most);

}  // namespace convt_jit
