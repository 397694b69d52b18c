// templates/device/numeric.cuh, run by the simulator.
#include "../templates/device/args.cuh"
#include "sim/program.h"
#include "unit/sim/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace convt_jit::sim {
namespace {

// A 16-bit format by its definition, in f64: 1 sign, `exponent` and `mantissa` bits, subnormals, infinity, NaN.
struct Format {
    int dtype, exponent, mantissa;

    [[nodiscard]] std::uint16_t infinity() const {
        return static_cast<std::uint16_t>(((1 << exponent) - 1) << mantissa);
    }
    [[nodiscard]] double magnitude(int bits) const {
        const int power = bits >> mantissa;
        const double fraction = bits & ((1 << mantissa) - 1);
        const int bias = (1 << (exponent - 1)) - 1;
        if (power == 0) return std::ldexp(fraction, 1 - bias - mantissa);
        return std::ldexp((1 << mantissa) + fraction, power - bias - mantissa);
    }
    [[nodiscard]] double value(std::uint16_t bits) const {
        const int rest = bits & 0x7fff;
        const double size = rest > infinity()    ? std::numeric_limits<double>::quiet_NaN()
                            : rest == infinity() ? std::numeric_limits<double>::infinity()
                                                 : magnitude(rest);
        return bits & 0x8000 ? -size : size;
    }
    // Nearest by search among all values; the value after the largest would be 2^(emax + 1), which is where infinity
    // is.
    [[nodiscard]] std::uint16_t nearest(float number) const {
        if (std::isnan(number)) return 0x7fff;
        const double wanted = std::fabs(static_cast<double>(number));
        int low = 0, high = infinity();
        while (low < high) {  // the largest pattern whose value is not above `wanted`
            const int middle = (low + high + 1) / 2;
            (magnitude(middle) <= wanted ? low : high) = magnitude(middle) <= wanted ? middle : middle - 1;
        }
        if (low < infinity()) {
            const double below = wanted - magnitude(low), above = magnitude(low + 1) - wanted;
            if (above < below || (above == below && low % 2 == 1)) ++low;
        }
        return static_cast<std::uint16_t>(low | (std::signbit(number) ? 0x8000 : 0));
    }
};

constexpr Format kF16{1, 5, 10}, kBf16{2, 8, 7};

// y[i] = statement(x[i]) for all i, in one block per 256 elements.
template <class Out, class In>
std::vector<Out> map(int dtype, const std::vector<In>& x, const std::string& in, const std::string& out,
                     const std::string& expression) {
    const Program program(
        kernel_source("extern \"C\" __global__ void kernel(const ConvtArgs args) {\n"
                      "const long long i = blockIdx.x * 256ll + threadIdx.x;\n"
                      "if (i >= args.batch) return;\n"
                      "const " +
                          in + " v = load_global(static_cast<const " + in +
                          "*>(args.x) + i);\n"
                          "store_global(static_cast<" +
                          out + "*>(args.y) + i, " + expression + ");\n}\n",
                      {.dtype = dtype}));
    std::vector<Out> y(x.size());
    ConvtArgs args{};
    args.x = x.data();
    args.y = y.data();
    args.batch = static_cast<long long>(x.size());
    LaunchOptions options;
    options.threads = 256;
    options.grid[0] = static_cast<std::uint32_t>((x.size() + 255) / 256);
    options.ranges = {{x.data(), x.size() * sizeof(In), false, "x"}, {y.data(), y.size() * sizeof(Out), true, "y"}};
    program.launch(options, &args);
    return y;
}

class Conversion : public testing::TestWithParam<Format> {};

TEST_P(Conversion, UpIsExactForEveryPattern) {
    std::vector<std::uint16_t> x(65536);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint16_t>(i);
    const auto y = map<float>(GetParam().dtype, x, "Element", "float", "to_float(v)");
    for (const std::uint16_t bits : x) {
        const auto wanted = static_cast<float>(GetParam().value(bits));
        if (std::isnan(wanted))
            ASSERT_TRUE(std::isnan(y[bits])) << bits;
        else
            ASSERT_EQ(std::bit_cast<std::uint32_t>(y[bits]), std::bit_cast<std::uint32_t>(wanted)) << bits;
    }
}

TEST_P(Conversion, DownRoundsToNearestEven) {
    std::vector<float> x;
    // Every value, the middle of it and the next, and the floats around both.
    for (int bits = 0; bits <= GetParam().infinity(); ++bits) {
        const double middle = (GetParam().magnitude(bits) + GetParam().magnitude(bits + 1)) / 2;
        for (const auto center : {static_cast<float>(GetParam().magnitude(bits)), static_cast<float>(middle)})
            for (const float number : {std::nextafterf(center, 0), center, std::nextafterf(center, INFINITY)}) {
                x.push_back(number);
                x.push_back(-number);
            }
    }
    // And a sweep over all floats, NaN and infinity among them.
    for (std::uint64_t bits = 0; bits <= 0xffffffff; bits += 9973)
        x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    for (const std::uint32_t bits : {0x7f800000U, 0xff800000U, 0x7f800001U, 0xffffffffU, 0x7fc00000U, 0x7f7fffffU, 1U})
        x.push_back(std::bit_cast<float>(bits));
    const auto y = map<std::uint16_t>(GetParam().dtype, x, "float", "Element", "from_float<Element>(v)");
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], GetParam().nearest(x[i])) << x[i];
}

INSTANTIATE_TEST_SUITE_P(Formats, Conversion, testing::Values(kF16, kBf16),
                         [](const auto& test) { return test.param.dtype == kF16.dtype ? "f16" : "bf16"; });

TEST(Numeric, FloatIsItsOwnElement) {
    const std::vector<float> x = {0.0F, -1.5F, 1e-42F};
    EXPECT_EQ((map<float>(0, x, "float", "Element", "from_float<Element>(to_float(v))")), x);
}

TEST(Numeric, VectorsAreAsLargeAsTheirElements) {
    const std::vector<float> x = {0};
    EXPECT_EQ((map<float>(1, x, "float", "float", "float(sizeof(Vector<Element, 8>) + alignof(Vector<Element, 8>))")),
              std::vector<float>{32});
}

}  // namespace
}  // namespace convt_jit::sim
