// ImplicitGemmSm90Tile: the tile of the `implicit_gemm_sm90` family (templates/families/implicit_gemm_sm90/). Pure
// functions.
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

// A tile is a rectangle of positions q (height, width) of one output depth and one row phase, all column phases of it
// and 64 x groups_m output channels of one group. The warpgroups of a team share its channels (groups_m) and its
// positions (groups_n); others load, and others may store. Of small images a tile has the same positions of several
// samples (`images`). Folded, a position is `fold` output rows, a multiple of the
// stride, and the 64 x groups_m rows of a product are those times output channels.
struct ImplicitGemmSm90Tile {
    static constexpr std::string_view kFamily = "implicit_gemm_sm90";

    std::array<int, 2> positions = {2, 128};
    int groups_m = 1, groups_n = 2;
    int teams = 1;         // groups_m x groups_n warpgroups each, which take tiles in turn
    int loaders = 1;       // warpgroups that load
    int chunk = 8;         // input channels that are staged at a time
    int stages = 4;        // chunks in shared memory
    int join = 2;          // column taps of one step that tensor cores add up before they join an f32 total
    int min_blocks = 1;    // of a multiprocessor, that registers are left for
    int resident = 0;      // 1: all weights that a block needs stay in shared memory
    int processors = 132;  // multiprocessors that the grid is made for: a block takes one tile after the other
    int fold = 1;          // output rows that share a product; 1: row phases are tiles of their own
    int storers = 0;       // warpgroups that store; 0: those that multiply do
    int store_width = 1;   // elements of one store, where a launch's pointers and rows allow it; else one
    int apart = 0;         // 1: each row tap has stages of its own; 0: a stage serves all of them
    int images = 1;        // samples that the rows of a tile are of, a row of each in turn

    template <class Tile, class Visit>
    static void fields(Tile& t, const Visit& visit) {
        visit("positions", "POSITIONS", t.positions);
        visit("groups_m", "GROUPS_M", t.groups_m);
        visit("groups_n", "GROUPS_N", t.groups_n);
        visit("teams", "TEAMS", t.teams);
        visit("loaders", "LOADERS", t.loaders);
        visit("chunk", "CHUNK", t.chunk);
        visit("stages", "STAGES", t.stages);
        visit("join", "JOIN", t.join);
        visit("min_blocks", "MIN_BLOCKS", t.min_blocks);
        visit("resident", "RESIDENT", t.resident);
        visit("processors", "PROCESSORS", t.processors);
        visit("fold", "FOLD", t.fold);
        visit("storers", "STORERS", t.storers);
        visit("store_width", "STORE_WIDTH", t.store_width);
        visit("apart", "APART", t.apart);
        visit("images", "IMAGES", t.images);
    }

    // What every family answers (src/plan/plan.h). `standard` is the tile of the least modelled time; where none serves
    // the layer, one that `unsupported` refuses.
    [[nodiscard]] static ImplicitGemmSm90Tile standard(const Layer& layer, const Arch& arch);
    [[nodiscard]] std::string unsupported(const Layer& layer, const Arch& arch, bool exact_nonfinite) const;
    [[nodiscard]] int threads(const Layer&) const { return 128 * (groups_m * groups_n * teams + loaders + storers); }
    [[nodiscard]] std::size_t shared_bytes(const Layer& layer) const;
    [[nodiscard]] Grid grid(const Layer& layer, const Shape& shape) const;
    [[nodiscard]] std::int64_t packed_bytes(const Layer& layer) const;

    // Row phases that are tiles of their own.
    [[nodiscard]] std::int64_t row_phases(std::int64_t stride) const { return fold > 1 ? 1 : stride; }
    // Output channels of a block, of the rows of its products.
    [[nodiscard]] int block_channels(std::int64_t out_per_group) const;
    // Columns of one product: 8 positions each of a part of a row, of a row, or of a tile that is 8 wide.
    [[nodiscard]] int columns() const;
    // Clock cycles of a whole GPU, in one unit for all families that have a model; infinite where the tile does not
    // serve the layer.
    [[nodiscard]] double modelled_cycles(const Layer& layer, const Arch& arch) const;
    friend bool operator==(const ImplicitGemmSm90Tile&, const ImplicitGemmSm90Tile&) = default;
};

// Tiles that may serve the layer, best modelled time first, at most `most`.
[[nodiscard]] std::vector<ImplicitGemmSm90Tile> implicit_gemm_sm90_candidates(const Layer& layer, const Arch& arch,
                                                                              std::size_t most);

}  // namespace convt_jit
