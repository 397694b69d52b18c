#include "plan/unrolled_resources.h"

#include "plan/divisibility.h"
#include "plan/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace convt_jit {
namespace {

constexpr int kMostCode = 3000;
constexpr int kMostRegisters = 224;

}  // namespace

UnrolledLayer UnrolledLayer::make(const Layer& layer) {
    UnrolledLayer result;
    const auto axes = axes_3d(layer);
    if (layer.layout == Layout::channels_last) {
        result.refusal = "unrolled serves channels-first tensors";
        return result;
    }
    for (const std::size_t a : {1, 2})
        if (!PhasedAxis::fits(axes[a])) {
            result.refusal =
                fmt::format("unrolled serves kernels and strides up to {} and halos up to {} along height and width",
                            PhasedAxis::kMost, PhasedAxis::kMostOffset);
            return result;
        }
    constexpr std::int64_t kMostDepthTaps = 4096, kMostChannels = 1 << 20;
    const std::int64_t depth_step = axes[0].stride / std::gcd(axes[0].stride, axes[0].dilation);
    const std::int64_t depth_taps = ceil_div(axes[0].kernel, depth_step);
    if (depth_taps > kMostDepthTaps || layer.in_channels > kMostChannels || layer.out_channels > kMostChannels) {
        result.refusal =
            fmt::format("unrolled serves up to {} depth taps and {} channels", kMostDepthTaps, kMostChannels);
        return result;
    }
    result.vertical = PhasedAxis::make(axes[1]);
    result.horizontal = PhasedAxis::make(axes[2]);
    result.depth_taps = static_cast<int>(depth_taps);
    result.in_per_group = static_cast<int>(layer.in_channels_per_group());
    result.out_per_group = static_cast<int>(layer.out_channels_per_group());
    result.element_bytes = layer.dtype == DType::f32 ? 4 : 2;
    return result;
}

std::string unrolled_resources(const UnrolledLayer& layer, const UnrolledTile& t, UnrolledResources& r) {
    const PhasedAxis &v = layer.vertical, &h = layer.horizontal;
    const int vector = 16 / layer.element_bytes;
    for (const int n :
         {t.positions[0], t.positions[1], t.rows, t.columns, t.channels, t.channel_threads, t.block_channels,
          t.reduction_threads, t.chunk, t.stages, t.unroll, t.min_blocks, t.store_width})
        if (n < 1 || n > 4096) return fmt::format("a tile parameter is {}, allowed: 1 to 4096", n);
    if (t.join < 0 || t.join > 4096) return fmt::format("join is {}, allowed: 0 to 4096", t.join);
    if (t.row_phases > UnrolledTile::kSideBySide) return fmt::format("row_phases is {}, allowed: 0 to 2", t.row_phases);
    if (t.order < UnrolledTile::kInputs || t.order > UnrolledTile::kPlanes)
        return fmt::format("order is {}, allowed: 0 to 2", t.order);
    if (t.store_width > vector || vector % t.store_width != 0)
        return fmt::format("store_width is {}, allowed: powers of two up to {}", t.store_width, vector);
    if (t.rows * t.columns > 64 || t.channels > 64) return "a thread has more than 64 positions or channels";
    for (const std::string& why :
         {multiple_refusal("positions (height)", t.positions[0], t.rows),
          multiple_refusal("positions (width)", t.positions[1], t.columns),
          multiple_refusal("positions (width)", t.positions[1], vector),
          multiple_refusal("block_channels", t.block_channels, std::int64_t{t.channels} * t.channel_threads),
          multiple_refusal("chunk", t.chunk, t.reduction_threads)})
        if (!why.empty()) return why;

    const bool split = t.row_phases != UnrolledTile::kTogether;
    const int places = t.positions[1] / t.columns * (t.positions[0] / t.rows);
    const int phase_threads = t.row_phases == UnrolledTile::kSideBySide ? v.used : 1;
    const std::int64_t threads = std::int64_t{1} * places * t.channel_threads * phase_threads * t.reduction_threads;
    if (threads > 1024) return "a block has more than 1024 threads";
    r.threads = static_cast<int>(threads);
    if (t.slabs && places % 32 != 0)
        return fmt::format("{} threads that differ in position only are no whole warps, which slabs need", places);

    r.turns = t.block_channels / (t.channels * t.channel_threads);
    const int depth_chunks = (layer.in_per_group + t.chunk - 1) / t.chunk;
    r.chunks = layer.depth_taps * depth_chunks;
    const int stages = std::min(t.stages, r.chunks);
    r.resident = stages == r.chunks;
    const int passes = r.turns * (t.row_phases == UnrolledTile::kInTurn ? v.used : 1);
    if (!r.resident && stages < 2) return "a ring needs two stages";
    if (!r.resident && passes > 1) return "a ring passes only once: stages must hold all chunks";
    if (passes > 1 && t.reduction_threads > 1) return "threads share input channels only where a block passes once";

    r.tile_height = t.positions[0] + v.high - v.low;
    r.tile_width = round_up(t.positions[1] + h.high - (h.low - modulo(h.low, vector)), vector);
    int pitch = 0, row_sets = 1;  // weights of one input channel and channel vector
    int window_height = t.rows + v.high - v.low;
    if (split) {
        window_height = 0;
        for (const PhasedAxis::Reach& phase : v.phases)
            if (phase.taps > 0) {
                pitch += round_up(phase.taps * h.taps * t.channels, 4);
                window_height = std::max(window_height, t.rows + phase.high - phase.low);
            }
    } else {
        pitch = round_up(v.taps * h.taps * t.channels, 4);
        row_sets = v.used;
    }
    r.window_height = window_height;
    r.window_width = t.columns + h.high - h.low;
    r.sums = std::int64_t{1} * row_sets * h.used * t.channels * t.rows * t.columns;
    r.products = std::int64_t{1} * v.taps * h.taps * t.channels * t.rows * t.columns *
                 std::min(t.unroll, t.chunk / t.reduction_threads);
    // What the compiler has to chew: products, and every output of a thread, which is selected, finished and stored.
    const std::int64_t outputs = std::int64_t{1} * v.used * h.stride * t.channels * t.rows * t.columns;
    if (r.products + 8 * outputs > kMostCode)
        return fmt::format(
            "{} products and {} outputs of a thread are unrolled, allowed: products + 8 * outputs up to {}", r.products,
            outputs, kMostCode);
    // Few rows of the window live at a time; the rest is addresses, sizes and weights.
    r.registers = r.sums * (t.join > 0 ? 2 : 1) + std::int64_t{std::min(r.window_height, 2)} * r.window_width + 34;

    const std::int64_t input_stage =
        (std::int64_t{1} * t.chunk * r.tile_height * r.tile_width * layer.element_bytes + 15) / 16 * 16;
    const int staged_vectors = r.resident ? t.block_channels / t.channels : t.channel_threads;
    const std::int64_t weight_stage = std::int64_t{4} * staged_vectors * t.chunk * pitch;
    const std::int64_t exchange = t.reduction_threads > 1 ? (threads * r.sums * 4 + 15) / 16 * 16 : 0;
    const std::int64_t slabs = t.slabs ? threads * t.columns * h.stride * 4 : 0;
    const std::int64_t finish = (std::int64_t{12} * t.block_channels + 31) / 32 * 32;
    r.shared_bytes = std::max(stages * input_stage, exchange) + stages * weight_stage + finish + slabs;
    return {};
}

std::string unrolled_shortage(const UnrolledResources& r, const Arch& arch) {
    if (arch.number < 75) return fmt::format("unrolled needs sm_75 or newer, not {}", to_string(arch));
    return shortage(r, kMostRegisters, arch);
}

}  // namespace convt_jit
