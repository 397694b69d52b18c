#include "convt_jit/reference.h"
#include "reference/number_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace convt_jit {
namespace {

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
    const double center = mean(values);
    double squares = 0;
    for (const double value : values) squares += (value - center) * (value - center);
    return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(RandomTensors, AreThereWhereTheLayerUsesThem) {
    const Layer bare = parse_layer("n2 c4 o6 in5x7 k3x3 f32");
    const HostTensors few = random_tensors(bare, known_shape(bare), 3);
    EXPECT_EQ(few.x.size(), 2U * 4 * 5 * 7);
    EXPECT_EQ(few.w.size(), 4U * 6 * 9);
    EXPECT_TRUE(few.bias.empty() && few.residual.empty() && few.scale.empty() && few.shift.empty());
    const Layer full = parse_layer("n2 c4 o6 in5x7 k3x3 g2 bias residual affine f32");
    const HostTensors all = random_tensors(full, known_shape(full), 3);
    EXPECT_EQ(all.w.size(), 4U * 3 * 9);
    EXPECT_EQ(all.bias.size(), 6U);
    EXPECT_EQ(all.residual.size(), 2U * 6 * 7 * 9);
    EXPECT_EQ(all.scale.size(), 6U);
    EXPECT_EQ(all.shift.size(), 6U);
}

TEST(RandomTensors, AreTheSameForASeedOnEveryMachine) {
    const Layer layer = parse_layer("n1 c4 o6 in300x300 k3x3 f32");
    const HostTensors a = random_tensors(layer, known_shape(layer), 42),
                      b = random_tensors(layer, known_shape(layer), 42),
                      c = random_tensors(layer, known_shape(layer), 43);
    EXPECT_EQ(a.x, b.x);
    EXPECT_EQ(a.w, b.w);
    EXPECT_NE(a.x, c.x);
    EXPECT_EQ(std::vector<double>(a.x.begin(), a.x.begin() + 3),
              (std::vector<double>{-0x1.ac5b9a0000000p-4, 0x1.390fba0000000p+0, 0x1.09541a0000000p-4}));
    EXPECT_EQ(a.x.back(), -0x1.1aad160000000p-2);
}

TEST(RandomTensors, AreNormalAndScaled) {
    const Layer layer = parse_layer("n1 c64 o64 in64x64 k4x4 s2 f32");
    const HostTensors tensors = random_tensors(layer, known_shape(layer), 5);
    EXPECT_NEAR(mean(tensors.x), 0, 0.01);
    EXPECT_NEAR(deviation(tensors.x), 1, 0.01);
    EXPECT_GT(*std::max_element(tensors.x.begin(), tensors.x.end()), 3);
    EXPECT_NEAR(deviation(tensors.w), 1 / std::sqrt(64 * 4), 0.001);
    EXPECT_NEAR(deviation(reference(layer, known_shape(layer), tensors)), 1, 0.05);
}

TEST(RandomTensors, AreRoundedToTheDtype) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
        Layer layer = parse_layer("n1 c4 o6 in30x30 k3x3 bias residual affine f32");
        layer.dtype = dtype;
        const HostTensors tensors = random_tensors(layer, known_shape(layer), 6);
        for (const auto* values : {&tensors.x, &tensors.w, &tensors.bias, &tensors.residual})
            EXPECT_EQ(decode(dtype, encode(dtype, *values)), *values);
        EXPECT_EQ(decode(DType::f32, encode(DType::f32, tensors.scale)), tensors.scale);
    }
}

}  // namespace
}  // namespace convt_jit
