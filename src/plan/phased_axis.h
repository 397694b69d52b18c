// PhasedAxis: one axis of a layer as kernels have it whose taps are unrolled. Pure functions.
#pragma once

#include "plan/volume.h"

#include <array>

namespace convt_jit {

// Phase by phase, as the template's Axis has it. Only for kernels and strides that are worth unrolling.
struct PhasedAxis {
    static constexpr int kMost = 32;        // taps or phases of an axis
    static constexpr int kMostOffset = 64;  // a wider halo has no place in registers

    int taps = 1, stride = 1;
    int used = 1;           // phases that a tap reaches
    int low = 0, high = 0;  // input offsets
    struct Reach {
        int taps = 0, low = 0, high = 0;
    };
    std::array<Reach, kMost> phases{};

    [[nodiscard]] static bool fits(const AxisParameters& axis);
    [[nodiscard]] static PhasedAxis make(const AxisParameters& axis);
};

}  // namespace convt_jit
