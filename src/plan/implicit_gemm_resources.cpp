#include "plan/implicit_gemm_resources.h"

#include "plan/divisibility.h"
#include "plan/rounding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace convt_jit {
namespace {

constexpr std::int64_t kMostProducts = 400;  // mma that are unrolled: they are what compiling takes
constexpr std::int64_t kMostRegisters = 232;
constexpr int kMostHeld = 4;  // pieces of input that a thread holds in registers

}  // namespace

std::string implicit_gemm_resources(const ImplicitGemmLayer& layer, const ImplicitGemmTile& t,
                                    ImplicitGemmResources& r) {
    const PhasedAxis& h = layer.horizontal;
    for (const int n : {t.positions[0], t.positions[1], t.block_channels, t.warps_m, t.warps_n, t.chunk, t.stages,
                        t.min_blocks, t.split})
        if (n < 1 || n > 4096) return fmt::format("a tile parameter is {}, allowed: 1 to 4096", n);
    if (t.warp_rows > 4096) return fmt::format("warp_rows is {}, allowed: 0 to 4096", t.warp_rows);
    if (t.join > 4096) return fmt::format("join is {}, allowed: 0 to 4096", t.join);
    if (layer.split && (t.join < 1 || t.join > kMostSplitJoin))
        return fmt::format("join is {}, allowed: 1 to {} in ieee, since tensor cores cut long sums off", t.join,
                           kMostSplitJoin);
    if (t.order > ImplicitGemmTile::kPlanes) return fmt::format("order is {}, allowed: 0 and 1", t.order);
    if (std::int64_t{t.warps_m} * t.warps_n > 32) return "a block has more than 32 warps";
    const std::int64_t row_tiles = t.positions[1] / 8, tiles = row_tiles * t.positions[0];
    for (const std::string& why :
         {multiple_refusal("positions (width)", t.positions[1], 8),
          multiple_refusal("block_channels", t.block_channels, std::int64_t{16} * t.warps_m),
          divisor_refusal("warps_n", t.warps_n, tiles, "times 8 positions"),
          t.chunk == 4 * layer.word_channels() ? std::string()
                                               : multiple_refusal("chunk", t.chunk, 8 * layer.word_channels())})
        if (!why.empty()) return why;
    if (layer.fold > t.block_channels)
        return fmt::format("fold makes {} rows of a channel, more than block_channels, {}", layer.fold,
                           t.block_channels);
    r.threads = 32 * t.warps_m * t.warps_n;
    r.warp_m = t.block_channels / 16 / t.warps_m;
    r.warp_n = static_cast<int>(tiles / t.warps_n);
    const auto holds = [&](std::int64_t rows) {
        return r.warp_n % rows == 0 && row_tiles % (r.warp_n / rows) == 0 && t.positions[0] % rows == 0;
    };
    r.warp_rows = t.warp_rows > 0 ? t.warp_rows : static_cast<int>((r.warp_n + row_tiles - 1) / row_tiles);
    if (!holds(r.warp_rows)) {
        std::vector<int> allowed;
        if (holds((r.warp_n + row_tiles - 1) / row_tiles)) allowed.push_back(0);
        for (int rows = 1; rows <= t.positions[0]; ++rows)
            if (holds(rows)) allowed.push_back(rows);
        if (t.warp_rows > 0) return fmt::format("warp_rows is {}, allowed: {}", t.warp_rows, fmt::join(allowed, ", "));
        return fmt::format("a warp has {} times 8 positions of rows of {}: neither a part of a row nor whole rows",
                           r.warp_n, row_tiles);
    }
    r.shares_rows = r.warp_rows > 1 && layer.taps_h > 1 && layer.same_taps_h;
    r.chunks = layer.depth_taps * ((layer.in_per_group + t.chunk - 1) / t.chunk);
    if (t.split > 32) return fmt::format("split is {}, allowed: 1 to 32", t.split);
    if (t.split > r.chunks)
        return fmt::format("split is {}, and there are no more than {} chunks to share", t.split, r.chunks);
    r.chunks = (r.chunks + t.split - 1) / t.split;
    const int stages = std::min(t.stages, r.chunks);
    if (stages < 2 && r.chunks > 1) return "a ring needs two stages";

    const int vector = 16 / layer.element_bytes;
    r.tile_height = t.positions[0] + layer.reach_h;
    r.tile_width = round_up(t.positions[1] + h.high - (h.low - modulo(h.low, vector)), vector);
    const int words = t.chunk / layer.word_channels();
    r.steps = std::max(words / 8, 1);
    r.slots = h.taps;
    if (words == 4) {
        r.slots = 0;
        for (int phase = 0; phase < h.stride; ++phase)
            r.slots += (h.phases[static_cast<std::size_t>(phase)].taps + 1) / 2;
    }
    const std::int64_t plane = pitch(std::int64_t{r.tile_height} * r.tile_width, 8);
    const std::int64_t input = words * plane;
    const std::int64_t weights = std::int64_t{layer.taps_h} * r.slots * r.steps * (t.block_channels / 16) * 128;
    const std::int64_t line = std::int64_t{t.positions[1]} * h.stride * (layer.fold / layer.fold_rows);
    const std::int64_t sets = layer.fold > 1 ? layer.outputs_of(t.block_channels) * layer.fold_rows : 16 * t.warps_m;
    const int fold_columns = layer.fold / layer.fold_rows, run = h.stride * fold_columns;
    const std::int64_t slab = sets * pitch(t.positions[0] * line, run == 2 ? 16 : run == 4 && fold_columns > 1 ? 4 : 8);
    r.shared_bytes = 4 * std::max(stages * (input + weights), slab) + 12 * t.block_channels + 4;

    // [group][channel block][row phase][depth tap][chunk] times a stage's weights; in f64, where nothing overflows.
    const double packed = 4.0 * layer.groups * layer.blocks_of(t.block_channels) * layer.used_rows *
                          layer.depth_kernel * std::ceil(static_cast<double>(layer.in_per_group) / t.chunk) *
                          static_cast<double>(weights);
    if (packed > kMostPackedBytes)
        return fmt::format("the packed weights take {:.0f} bytes, allowed: up to {:.0f}", packed, kMostPackedBytes);
    r.packed_bytes = static_cast<std::int64_t>(packed);

    const std::int64_t fragments = std::int64_t{r.warp_m} * r.warp_n;
    const int together = r.shares_rows ? layer.taps_h : 1;  // row taps
    r.products = fragments * r.slots * together * (layer.split ? 3 : 1);
    if (r.products > kMostProducts)
        return fmt::format("{} matrix products of a warp are unrolled, allowed: up to {}", r.products, kMostProducts);
    if (fragments * h.stride > 64)
        return fmt::format("a warp has {} sums of 16 x 8 outputs, allowed: up to 64", fragments * h.stride);
    const std::int64_t held =
        layer.element_bytes == 2
            ? (std::int64_t{words} * r.tile_height * (r.tile_width / 8) + r.threads - 1) / r.threads
            : 0;
    if (held > kMostHeld)
        return fmt::format("a thread holds {} pieces of the next chunk, allowed: up to {}", held, kMostHeld);
    r.registers = 4 * fragments * (h.used + (t.join > 0 ? 1 : 0)) +
                  (layer.split ? 2 : 1) * (4 * r.warp_m * together + 2 * r.warp_n / (r.shares_rows ? r.warp_rows : 1)) +
                  8 * held + (layer.split ? 68 : 48) + (r.shares_rows ? 12 : 0);
    return {};
}

std::string implicit_gemm_shortage(const ImplicitGemmResources& r, const Arch& arch) {
    if (arch.number < 80) return fmt::format("implicit_gemm needs sm_80 or newer, not {}", to_string(arch));
    return shortage(r, kMostRegisters, arch);
}

}  // namespace convt_jit
