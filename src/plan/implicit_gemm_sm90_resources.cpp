#include "plan/implicit_gemm_sm90_resources.h"

#include "plan/divisibility.h"
#include "plan/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace convt_jit {
namespace {

constexpr std::int64_t kMostProducts = 96;  // wgmma that are unrolled: they are what compiling takes
constexpr std::int64_t kMostRowTaps = 1024;
constexpr double kMostSetBytes = 0x1p35;  // 32 bits count its cells

std::int64_t largest_divisor(std::int64_t n, std::int64_t most) {
    std::int64_t d = std::min(n, most);
    while (n % d != 0) --d;
    return d;
}

// Input rows that a position of so many output rows meets: all between the lowest and the highest that a tap joins with
// one of them.
std::int64_t folded_taps(const AxisParameters& axis, int lines) {
    std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = std::numeric_limits<std::int64_t>::min();
    for (std::int64_t line = 0; line < lines; ++line)
        for (std::int64_t k = 0; k < axis.kernel; ++k) {
            const std::int64_t at = line + axis.pad - k * axis.dilation;
            if (at % axis.stride != 0) continue;
            low = std::min(low, at / axis.stride);
            high = std::max(high, at / axis.stride);
        }
    return high - low + 1;
}

// Of a warp's strips of finished outputs. run, own: 8 positions each, of one product and of a warpgroup.
std::int64_t strip_bytes(const ImplicitGemmLayer& layer, const ImplicitGemmSm90Tile& t, std::int64_t run,
                         std::int64_t own) {
    const auto fit = [](std::int64_t most, std::int64_t bytes) { return std::max<std::int64_t>(most / bytes, 1); };
    const std::int64_t tile = std::int64_t{8} * layer.horizontal.stride * layer.element_bytes;
    const std::int64_t tiles = largest_divisor(t.positions[1] == 8 ? 1 : run, fit(512, tile));
    const std::int64_t strip = tiles * tile, strips = largest_divisor(own / tiles, fit(256, strip));
    const std::int64_t step = std::min<std::int64_t>(tile, 32), bank = strip % 128;
    const std::int64_t step_pitch = bank < step ? step - bank : bank > 128 - step ? 128 - bank + step : 0;
    const std::int64_t slab = 8 * strips * (strip + step_pitch);
    return t.storers > 0 ? 2 * own / (tiles * strips) * slab : slab;
}
// With a residual, of its sums as pieces of lines.
std::int64_t piece_bytes(const ImplicitGemmLayer& layer, const ImplicitGemmSm90Tile& t, std::int64_t run,
                         std::int64_t own) {
    const int stride = layer.horizontal.stride;
    const std::int64_t most = stride < 16 ? 16 / stride : 1;  // 8 positions each, that pass through a slab at a time
    const std::int64_t piece = largest_divisor(t.positions[1] == 8 ? 1 : run, most);
    const std::int64_t pieces = largest_divisor(own / piece, most / piece);
    return 4 * 8 * pitch(pieces * 8 * piece * stride, stride == 2 ? 16 : 8);
}

}  // namespace

std::string implicit_gemm_sm90_resources(const ImplicitGemmLayer& layer, const ImplicitGemmSm90Tile& t,
                                         const Arch& arch, ImplicitGemmSm90Resources& r) {
    if (arch.number != 90) return fmt::format("implicit_gemm_sm90 needs sm_90a, not {}", to_string(arch));
    const PhasedAxis& h = layer.horizontal;
    for (const int n : {t.positions[0], t.positions[1], t.groups_m, t.groups_n, t.teams, t.loaders, t.chunk, t.stages,
                        t.join, t.min_blocks, t.processors})
        if (n < 1 || n > 4096) return fmt::format("a tile parameter is {}, allowed: 1 to 4096", n);
    if (layer.split && t.join > kMostSplitJoin)
        return fmt::format("join is {}, allowed: 1 to {} in ieee, since tensor cores cut long sums off", t.join,
                           kMostSplitJoin);
    // A stage is given back when the next chunk's products are under way.
    if (t.stages < 2) return fmt::format("stages is {}, allowed: 2 to 4096", t.stages);
    if (t.images < 1 || t.images > 64 || t.positions[0] % t.images != 0)
        return fmt::format("images is {}, allowed: 1 to 64 that divide positions (height) {}", t.images,
                           t.positions[0]);
    if (t.fold < 1 || t.fold > 64) return fmt::format("fold is {}, allowed: 1 to 64", t.fold);
    if (t.fold > 1 && t.fold % layer.vertical.stride != 0)
        return fmt::format("fold {} is no multiple of the stride {} along height", t.fold, layer.vertical.stride);
    if (t.fold > 8 * t.groups_m)
        return fmt::format("fold {} leaves less than 8 channels of {} rows", t.fold, 64 * t.groups_m);
    if (t.resident != 0 && t.resident != 1) return fmt::format("resident is {}, allowed: 0 and 1", t.resident);
    if (t.apart != 0 && t.apart != 1) return fmt::format("apart is {}, allowed: 0 and 1", t.apart);
    if (t.storers != 0 && t.storers != 1) return fmt::format("storers is {}, allowed: 0 and 1", t.storers);
    const int vector = 16 / layer.element_bytes;
    if (t.store_width < 1 || t.store_width > vector || vector % t.store_width != 0)
        return fmt::format("store_width is {}, allowed: powers of two up to {}", t.store_width, vector);
    if (t.storers > 0 && layer.residual) return "storers do not add a residual";
    if (t.storers > 0 && t.teams > 1) return "teams take turns so that one stores: they need no storers";
    if (t.groups_m * t.groups_n * t.teams > 4) return "more than 4 warpgroups multiply";
    if (t.loaders > 2) return "more than 2 warpgroups load";
    const std::int64_t row_tiles = t.positions[1] / 8, tiles = row_tiles * t.positions[0];
    const int cell = 16 / layer.element_bytes;
    for (const std::string& why : {multiple_refusal("positions (width)", t.positions[1], 8),
                                   divisor_refusal("groups_n", t.groups_n, tiles, "times 8 positions"),
                                   multiple_refusal("chunk", t.chunk, 2 * cell)})
        if (!why.empty()) return why;
    const std::int64_t own = tiles / t.groups_n;
    const std::int64_t run = row_tiles == 1 || own < row_tiles ? own : row_tiles;
    if (own % run != 0 || (row_tiles > 1 && row_tiles % run != 0))
        return fmt::format("a warpgroup has {} times 8 positions of rows of {}: neither a part of a row nor whole rows",
                           own, row_tiles);
    if (run > 32) return fmt::format("a product has {} columns, allowed: up to 256", 8 * run);

    const std::int64_t groups = std::int64_t{t.groups_m} * t.groups_n * t.teams;
    r.threads = static_cast<int>(128 * (groups + t.loaders + t.storers));
    r.columns = static_cast<int>(8 * run);
    r.runs = static_cast<int>(own / run);
    r.steps = t.chunk / (2 * cell);
    r.parts = layer.split ? 2 : 1;
    r.chunks = (layer.in_per_group + t.chunk - 1) / t.chunk;
    const bool folded = t.fold > 1;
    const int rows = 64 * t.groups_m;
    r.row_step = folded ? t.fold / static_cast<int>(layer.vertical.stride) : 1;
    r.row_phases = static_cast<int>(t.row_phases(layer.vertical.stride));
    const std::int64_t row_taps = folded ? folded_taps(layer.vertical, t.fold) : layer.taps_h;
    if (row_taps > kMostRowTaps)
        return fmt::format("a position meets {} input rows, allowed: up to {}", row_taps, kMostRowTaps);
    r.row_taps = static_cast<int>(row_taps);
    r.block_channels = t.block_channels(layer.out_per_group);
    const int reach = t.apart == 1 ? 0 : folded ? r.row_taps - 1 : layer.reach_h;
    r.set_row_taps = t.apart == 1 ? r.row_taps : 1;
    if (t.images > 1 && r.row_step > 1) return "images share no tile where a position is several steps of the stride";
    r.tile_height = ((t.positions[0] / t.images - 1) * r.row_step + reach + 1) * t.images;
    const int pair = layer.element_bytes == 2 ? 2 : 1;
    r.tile_width = round_up(t.positions[1] + h.high - (h.low - modulo(h.low, pair)), pair);
    const std::int64_t input = std::int64_t{2} * r.steps * r.parts * r.tile_height * r.tile_width * 16;
    r.weight_stage = std::int64_t{r.row_taps / r.set_row_taps} * h.taps * r.steps * r.parts * 2 * rows * 16;
    // In f64, where nothing overflows.
    const double blocks = static_cast<double>((layer.out_per_group + r.block_channels - 1) / r.block_channels);
    const double set = 1.0 * layer.depth_kernel * r.set_row_taps * r.chunks * static_cast<double>(r.weight_stage);
    const double packed = blocks * layer.groups * r.row_phases * set;
    if (packed > kMostPackedBytes)
        return fmt::format("the packed weights take {:.0f} bytes, allowed: up to {:.0f}", packed, kMostPackedBytes);
    if (set >= kMostSetBytes)
        return fmt::format("a tile needs {:.0f} bytes of packed weights, allowed: less than {:.0f}", set,
                           kMostSetBytes);
    r.packed_bytes = static_cast<std::int64_t>(packed);
    const std::int64_t ring = t.stages * (input + (t.resident == 1 ? 0 : r.weight_stage));
    const std::int64_t resident = t.resident == 1 ? layer.depth_kernel * r.set_row_taps * r.chunks * r.weight_stage : 0;
    const std::int64_t slabs = layer.residual ? piece_bytes(layer, t, run, own) : strip_bytes(layer, t, run, own);
    r.shared_bytes = ring + resident + 4 * groups * slabs + std::int64_t{16} * t.stages + 8 + 8 * t.teams +
                     (t.storers > 0 ? 4 * 16 * groups : 0);

    if (std::int64_t{h.taps} * r.runs * (layer.split ? 3 : r.steps) > kMostProducts)
        return fmt::format("more than {} matrix products are unrolled", kMostProducts);
    const std::int64_t even = std::min<std::int64_t>(65536 / (r.threads * t.min_blocks) / 8 * 8, 255);
    const std::int64_t sums = 4 * own * (h.used + (layer.split ? 1 : 0));
    constexpr std::int64_t kStorer = 80, kLoader = 104;
    const std::int64_t all = even * (groups + t.loaders + t.storers) - kStorer * t.storers;
    const std::int64_t least = (sums + 40 + 7) / 8 * 8, spare = (all - kLoader * t.loaders) / groups / 8 * 8;
    const std::int64_t consumer =
        std::max({even, least, layer.split ? 0 : std::min({spare, least + 32, std::int64_t{240}})});
    const std::int64_t left = all - consumer * groups;
    const std::int64_t producer = std::min<std::int64_t>(left / t.loaders / 8 * 8, 152);
    r.registers = even;
    if (consumer > 240 && consumer > even)
        return fmt::format("a thread has {} sums, allowed: up to {}", sums, 240 - 40);
    if (producer < 56) return fmt::format("a thread that loads has {} registers, needed: 56", producer);
    // ptxas holds single instructions to what each thread has at first.
    if (4 * run + 24 > even) return fmt::format("a product has {} sums of a thread with {} registers", 4 * run, even);
    const std::int64_t pairs = std::int64_t{2} * r.steps * r.tile_height * r.tile_width / pair;
    const std::int64_t held = std::max<std::int64_t>((producer - (pair == 2 ? 56 : 44)) / (cell + 1), 1);
    const std::int64_t loading = std::int64_t{128} * t.loaders;
    while (2 * r.squads <= t.stages && 2 * r.squads <= 4 * t.loaders &&
           (t.teams == 1 || t.stages % (2 * r.squads) == 0) &&
           (pairs + loading / (2 * r.squads) - 1) / (loading / (2 * r.squads)) <= held)
        r.squads *= 2;
    r.batches = static_cast<int>((pairs + loading / r.squads * held - 1) / (loading / r.squads * held));
    r.held = static_cast<int>((pairs + loading / r.squads * r.batches - 1) / (loading / r.squads * r.batches));
    return shortage(r, 255, arch);
}

}  // namespace convt_jit
