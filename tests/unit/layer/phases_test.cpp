#include "layer/phases.h"

#include <gtest/gtest.h>

#include <map>

namespace convt_jit {
namespace {

// Tap and offset of every pair of the definition: o = stride*q + r reads input q + offset through the tap.
std::map<std::int64_t, std::int64_t> taps_of_phase(std::int64_t kernel, std::int64_t stride, std::int64_t pad,
                                                   std::int64_t dilation, std::int64_t r) {
    std::map<std::int64_t, std::int64_t> offsets;
    for (std::int64_t tap = 0; tap < kernel; ++tap) {
        const std::int64_t distance = r + pad - tap * dilation;
        if (distance % stride == 0) offsets[tap] = distance / stride;
    }
    return offsets;
}

TEST(Phases, EqualTheDefinition) {
    for (std::int64_t kernel = 1; kernel <= 9; ++kernel)
        for (std::int64_t stride = 1; stride <= 7; ++stride)
            for (std::int64_t dilation = 1; dilation <= 7; ++dilation)
                for (std::int64_t pad = 0; pad <= 11; ++pad) {
                    SCOPED_TRACE(testing::Message()
                                 << "k" << kernel << " s" << stride << " d" << dilation << " p" << pad);
                    const AxisPhases axis = axis_phases(kernel, stride, pad, dilation);
                    ASSERT_EQ(static_cast<std::int64_t>(axis.phases.size()), stride);
                    std::int64_t taps = 0, lowest = 1000, highest = -1000;
                    for (std::int64_t r = 0; r < stride; ++r) {
                        const Phase& phase = axis.phases[static_cast<std::size_t>(r)];
                        std::map<std::int64_t, std::int64_t> offsets;
                        for (std::int64_t j = 0; j < phase.taps; ++j)
                            offsets[phase.first_tap + j * axis.tap_step] = phase.first_offset - j * axis.offset_step;
                        ASSERT_EQ(offsets, taps_of_phase(kernel, stride, pad, dilation, r)) << "phase " << r;
                        taps += phase.taps;
                        for (const auto& [tap, offset] : offsets) {
                            lowest = std::min(lowest, offset);
                            highest = std::max(highest, offset);
                        }
                    }
                    ASSERT_EQ(taps, kernel);  // each tap in one phase
                    ASSERT_EQ(axis.lowest_offset, lowest);
                    ASSERT_EQ(axis.highest_offset, highest);
                }
}

TEST(Phases, TakeTheLargestSizesWithoutOverflow) {
    constexpr std::int64_t huge = (std::int64_t{1} << 31) - 1;
    const AxisPhases axis = axis_phases(huge, 65536, huge, huge);
    EXPECT_EQ(axis.tap_step, 65536);
    EXPECT_EQ(axis.offset_step, huge);
    ASSERT_EQ(axis.phases.size(), 65536U);
    for (std::int64_t r = 0; r < 65536; r += 4097) {
        const Phase& phase = axis.phases[static_cast<std::size_t>(r)];
        EXPECT_EQ(r + huge - phase.first_tap * huge, phase.first_offset * 65536);
        EXPECT_EQ(phase.taps, (huge - 1 - phase.first_tap) / 65536 + 1);
    }
}

TEST(Phases, OneEntryPerAxisOfALayer) {
    const auto axes = phases(parse_layer("c4 o4 k3x5x2 s2x3x1 p1x2x0 d2x1x1 f32"));
    ASSERT_EQ(axes.size(), 3U);
    EXPECT_EQ(axes[1].phases, axis_phases(5, 3, 2, 1).phases);
    EXPECT_EQ(axes[0].phases[0].taps, 0);  // dilation 2 with stride 2: every other output is reached by no tap
    EXPECT_EQ(axes[0].phases[1].taps, 3);
}

}  // namespace
}  // namespace convt_jit
