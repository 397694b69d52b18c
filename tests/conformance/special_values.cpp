#include "conformance/special_values.h"

#include "conformance/check.h"
#include "conformance/subject.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace convt_jit::test {

void expect_all_numbers(const Device& device, const std::string& type, const std::string& plan,
                        const std::string& kernel) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const Layer layer = parse_layer(fmt::format("n1 c16 o20 in8x40 {} bias{}", kernel, type));
    const Shape shape = known_shape(layer);
    HostTensors tensors = random_tensors(layer, shape, 5);
    for (double& w : tensors.w) w = std::round(4 * w) / 4;  // some are zero, and none has a second half
    tensors.x[3 * 320 + 85] = inf;
    tensors.x[4 * 320 + 200] = -inf;
    tensors.x[5 * 320 + 33] = std::nan("");
    if (layer.dtype == DType::f32 && layer.precision == Precision::ieee) tensors.x[7 * 320 + 290] = 0x1.fffffep127;
    RunOptions options;
    options.prepare.plan = plan;
    const auto got = run(engine(), device, layer, shape, tensors, options);
    const auto want = reference(layer, shape, tensors);
    std::size_t infinite = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isnan(want[i])) {
            EXPECT_TRUE(std::isnan(got[i])) << type << " " << i;
        } else if (std::isinf(want[i])) {
            EXPECT_EQ(got[i], want[i]) << type << " " << i;
            ++infinite;
        } else if (std::fabs(want[i]) < 1e37) {
            EXPECT_NEAR(got[i], want[i], 0.05 * (1 + std::fabs(want[i]))) << type << " " << i;
        } else if (std::fabs(want[i]) < 0x1p127) {
            EXPECT_NEAR(got[i] / want[i], 1, 1e-6) << type << " " << i;
        }
    }
    EXPECT_GT(infinite, 10u) << type;
}

void expect_unreached_outputs_are_the_bias(const Device& device, const std::string& plan,
                                           const std::vector<std::string>& layers) {
    for (const std::string& text : layers) {
        const Layer layer = parse_layer(text);
        const Shape shape = known_shape(layer);
        HostTensors tensors = random_tensors(layer, shape, 3);
        for (double& b : tensors.bias) b = -0.0;
        HostTensors ones = tensors;
        for (double& value : ones.x) value = 1;
        for (double& value : ones.w) value = 1;
        const auto taps = reference(layer, shape, ones);
        RunOptions options;
        options.prepare.plan = plan;
        const auto got = run(engine(), device, layer, shape, tensors, options);
        std::size_t unreached = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (taps[i] != 0) continue;
            ASSERT_TRUE(got[i] == 0 && std::signbit(got[i]) == layer.bias) << text << " " << i << ": " << got[i];
            ++unreached;
        }
        EXPECT_GT(unreached, 100u);
    }
}

}  // namespace convt_jit::test
