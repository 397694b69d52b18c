// Phases: which taps of one axis reach which output positions. Pure functions.
//
// Outputs are written o = stride*q + r. With phase r fixed, tap k contributes where (r + pad - k*dilation) is a
// multiple of the stride, and then reads input i = q + offset(k). Within a phase the taps form an arithmetic
// progression: k = first_tap + j*tap_step and offset = first_offset - j*offset_step.
#pragma once

#include "convt_jit/layer.h"

#include <cstdint>
#include <vector>

namespace convt_jit {

struct Phase {
    std::int64_t first_tap = 0;     // smallest tap of the phase
    std::int64_t first_offset = 0;  // its input offset
    std::int64_t taps = 0;          // 0: no tap reaches this phase, its outputs are the bias
    friend bool operator==(const Phase&, const Phase&) = default;
};

struct AxisPhases {
    std::int64_t tap_step = 1;                           // stride / gcd(stride, dilation)
    std::int64_t offset_step = 1;                        // dilation / gcd(stride, dilation)
    std::int64_t lowest_offset = 0, highest_offset = 0;  // over all taps: the halo of a tile of q
    std::vector<Phase> phases;                           // one per r in [0, stride)
};

[[nodiscard]] AxisPhases axis_phases(std::int64_t kernel, std::int64_t stride, std::int64_t pad_begin,
                                     std::int64_t dilation);
// One per spatial axis of the layer.
[[nodiscard]] std::vector<AxisPhases> phases(const Layer& layer);

}  // namespace convt_jit
