// templates/device/epilogue.cuh, run by the simulator, against the definition in f64.
#include "../templates/device/args.cuh"
#include "sim/program.h"
#include "unit/sim/kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace convt_jit::sim {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Tensors {
    std::vector<float> x, bias, residual, scale, shift;
};

// The epilogue of each x as a sum; `real` is the type that it is computed in and stored as.
template <class Real>
std::vector<Real> apply(const Prologue& prologue, const Tensors& t, const std::string& real) {
    const Program program(kernel_source(
        "extern \"C\" __global__ void kernel(const ConvtArgs args) {\n"
        "const int i = threadIdx.x;\n"
        "const float sum = load_global(static_cast<const float*>(args.x) + i);\n"
        "const EpilogueChannel channel = epilogue_channel(args, i);\n"
        "store_global(static_cast<" +
            real + "*>(args.y) + i, epilogue<" + real + ">(sum, channel, epilogue_residual(args, i)));\n}\n",
        prologue));
    const std::size_t count = t.x.size();
    std::vector<Real> y(count);
    ConvtArgs args{};
    args.x = t.x.data();
    args.bias = t.bias.data();
    args.residual = t.residual.data();
    args.scale = t.scale.data();
    args.shift = t.shift.data();
    args.y = y.data();
    LaunchOptions options;
    options.threads = static_cast<std::uint32_t>(count);
    options.ranges = {{y.data(), count * sizeof(Real), true, "y"}};
    for (const std::vector<float>* range : {&t.x, &t.bias, &t.residual, &t.scale, &t.shift})
        options.ranges.push_back({range->data(), 4 * range->size(), false, "tensor"});
    program.launch(options, &args);
    return y;
}

struct ActivationCase {
    const char* name;
    int number;
    double (*definition)(double v);
};

const ActivationCase kActivations[] = {
    {"none", 0, [](double v) { return v; }},
    {"relu", 1, [](double v) { return std::isnan(v) ? v : std::fmax(v, 0); }},
    {"leaky_relu", 2, [](double v) { return v > 0 ? v : v * 0.125; }},
    {"gelu", 3, [](double v) { return 0.5 * v * std::erfc(-v / std::sqrt(2.0)); }},
    {"tanh", 4, [](double v) { return std::tanh(v); }},
    {"sigmoid", 5, [](double v) { return 1 / (1 + std::exp(-v)); }},
    {"silu", 6, [](double v) { return v / (1 + std::exp(-v)); }},
    {"hardswish", 7, [](double v) { return v * (std::fmin(std::fmax(v + 3, 0), 6) / 6); }},
};

class Activation : public testing::TestWithParam<ActivationCase> {};

// Few units in the last place, and what underflows may be zero.
void expect_close(double got, double wanted, double x, double tolerance) {
    if (std::isnan(wanted)) {
        EXPECT_TRUE(std::isnan(got)) << "at " << x;
    } else if (std::isinf(wanted)) {
        EXPECT_EQ(got, wanted) << "at " << x;
    } else {
        EXPECT_LE(std::fabs(got - wanted), tolerance * std::fabs(wanted) + 1e-36) << "at " << x << ": " << got;
    }
}

TEST_P(Activation, FollowsItsDefinition) {
    Tensors t;
    for (int i = -400; i <= 400; ++i) t.x.push_back(static_cast<float>(i) / 40.0F);
    for (const float v : {-1e30F, -3e38F, 1e30F, 3e38F, -100.0F, -88.0F, -80.0F, 80.0F, 89.0F, 1e-30F, -1e-30F, 0.0F})
        t.x.push_back(v);
    for (const double v : {kNan, kInfinity, -kInfinity}) t.x.push_back(static_cast<float>(v));
    const Prologue prologue{.activation = GetParam().number, .negative_slope = "0.125f"};
    const auto single = apply<float>(prologue, t, "float");
    const auto twice = apply<double>(prologue, t, "double");
    for (std::size_t i = 0; i < t.x.size(); ++i) {
        const double v = t.x[i], wanted = GetParam().definition(v);
        // The error of the argument of erfc counts as often as the function is steep there: 2 z^2 times.
        expect_close(single[i], wanted, v, GetParam().number == 3 ? 2e-7 * (2 + v * v) : 5e-7);
        expect_close(twice[i], wanted, v, GetParam().number == 3 ? 4e-16 * (2 + v * v) : 1e-15);
    }
}

TEST_P(Activation, KeepsNan) {
    const Tensors t{{NAN, 1.0F}, {}, {}, {}, {}};
    const Prologue prologue{
        .clamp = true, .activation = GetParam().number, .clamp_low = "-1.0f", .clamp_high = "0.25f"};
    EXPECT_TRUE(std::isnan(apply<float>(prologue, t, "float")[0]));
    EXPECT_EQ(apply<float>(prologue, t, "float")[1], 0.25F);
}

INSTANTIATE_TEST_SUITE_P(All, Activation, testing::ValuesIn(kActivations),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Epilogue, TakesTheStepsInOrder) {
    const Tensors t{{1, 2, 100, -100}, {10, 20, 30, 40}, {0.5F, -1, 2, 4}, {2, 3, 4, 5}, {-7, 1, 0, 3}};
    const Prologue prologue{.bias = true,
                            .has_scale = true,
                            .affine = true,
                            .residual = true,
                            .clamp = true,
                            .activation = 2,
                            .scale = "0.5f",
                            .negative_slope = "0.125f",
                            .clamp_low = "-10.0f",
                            .clamp_high = "50.0f"};
    // (1+10)*0.5 = 5.5 -> 11-7+0.5; (2+20)*0.5 = 11 -> 33+1-1; 130*0.5*4+2, clamped; -30*5+3+4 = -143, leaky, clamped
    EXPECT_EQ(apply<float>(prologue, t, "float"), (std::vector<float>{4.5F, 33, 50, -10}));
    EXPECT_EQ(apply<double>(prologue, t, "double"), (std::vector<double>{4.5, 33, 50, -10}));
}

TEST(Epilogue, LeavesOutWhatIsOff) {
    const Tensors nothing_else{{1, -2}, {}, {}, {}, {}};  // reading any of the others would be out of bounds
    EXPECT_EQ(apply<float>({}, nothing_else, "float"), (std::vector<float>{1, -2}));
}

TEST(Epilogue, ReadsBiasAndResidualAsElements) {
    Tensors t{{1, 2}, {}, {}, {}, {}};
    const std::uint16_t bias[] = {0x3f80, 0x4000}, residual[] = {0x4040, 0xc080};  // bf16: 1, 2; 3, -4
    t.bias.resize(1);
    t.residual.resize(1);
    std::memcpy(t.bias.data(), bias, 4);
    std::memcpy(t.residual.data(), residual, 4);
    EXPECT_EQ(apply<float>({.dtype = 2, .bias = true, .residual = true}, t, "float"), (std::vector<float>{5, 0}));
}

}  // namespace
}  // namespace convt_jit::sim
