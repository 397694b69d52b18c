// templates/device/mma.cuh, run by the simulator.
#include "../templates/device/args.cuh"
#include "convt_jit/reference.h"
#include "sim/program.h"
#include "unit/sim/kernel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace convt_jit::sim {
namespace {

using Words = std::vector<std::uint32_t>;

// Each of two warps multiplies a (16 x 8 words) by b (8 words x 8), `times` times on top of each other.
std::vector<float> multiply(int dtype, const Words& a, const Words& b, int times, LaunchOptions::Order order) {
    const Program program(kernel_source(R"(
extern "C" __global__ void kernel(const ConvtArgs args) {
    const int lane = threadIdx.x % 32, group = lane / 4, member = lane % 4, warp = threadIdx.x / 32;
    const unsigned* const a = static_cast<const unsigned*>(args.x) + warp * 128;
    const unsigned* const b = static_cast<const unsigned*>(args.w) + warp * 64;
    const unsigned left[4] = {load_global(a + group * 8 + member), load_global(a + (group + 8) * 8 + member),
                              load_global(a + group * 8 + member + 4), load_global(a + (group + 8) * 8 + member + 4)};
    const unsigned right[2] = {load_global(b + member * 8 + group), load_global(b + (member + 4) * 8 + group)};
    float sums[4] = {};
    for (int i = 0; i < args.batch; ++i) mma<Element>(sums, left, right);
    for (int i = 0; i < 4; ++i)
        store_global(static_cast<float*>(args.y) + warp * 128 + (group + i / 2 * 8) * 8 + 2 * member + i % 2, sums[i]);
}
)",
                                        {.dtype = dtype}));
    std::vector<float> y(256);
    ConvtArgs args{};
    args.x = a.data();
    args.w = b.data();
    args.y = y.data();
    args.batch = times;
    LaunchOptions options;
    options.threads = 64;
    options.order = order;
    options.ranges = {{a.data(), a.size() * 4, false, "x"},
                      {b.data(), b.size() * 4, false, "w"},
                      {y.data(), y.size() * 4, true, "y"}};
    program.launch(options, &args);
    return y;
}

// Small integers, different everywhere.
double number(int seed, int row, int column) { return (seed * 31 + row * 7 + column * 5) % 13 - 6; }

class Mma : public testing::TestWithParam<DType> {};

TEST_P(Mma, MultipliesMatrices) {
    const DType dtype = GetParam();
    const int per_word = dtype == DType::f32 ? 1 : 2, depth = 8 * per_word;
    const auto word = [&](double first, double second) {
        const std::vector<unsigned char> bytes =
            encode(dtype, per_word == 1 ? std::vector<double>{first} : std::vector<double>{first, second});
        return bytes[0] | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 24;
    };
    Words a, b;
    for (int warp = 0; warp < 2; ++warp) {
        for (int row = 0; row < 16; ++row)
            for (int k = 0; k < depth; k += per_word) a.push_back(word(number(warp, row, k), number(warp, row, k + 1)));
        for (int k = 0; k < depth; k += per_word)
            for (int column = 0; column < 8; ++column)
                b.push_back(word(number(warp + 2, k, column), number(warp + 2, k + 1, column)));
    }
    for (const auto order :
         {LaunchOptions::Order::ascending, LaunchOptions::Order::descending, LaunchOptions::Order::shuffled}) {
        const std::vector<float> y = multiply(static_cast<int>(dtype), a, b, 3, order);
        for (int i = 0; i < 256; ++i) {
            const int warp = i / 128, row = i / 8 % 16, column = i % 8;
            double sum = 0;
            for (int k = 0; k < depth; ++k) sum += number(warp, row, k) * number(warp + 2, k, column);
            ASSERT_EQ(y[static_cast<std::size_t>(i)], 3 * sum) << "warp " << warp << ": " << row << ", " << column;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, Mma, testing::Values(DType::f32, DType::f16, DType::bf16));

TEST(MmaTf32, CutsItsFactorsAndSumsOff) {
    const auto bits = [](float v) { return std::bit_cast<std::uint32_t>(v); };
    Words a(256, bits(1.0f + 0x1.ffep-11f)), b(128, 0);
    for (std::size_t column = 0; column < 8; ++column) b[column] = b[64 + column] = bits(1.0f);
    for (const float y : multiply(0, a, b, 1, LaunchOptions::Order::ascending)) EXPECT_EQ(y, 1.0f);
    a.assign(256, 0);
    for (std::size_t row = 0; row < 32; ++row) a[row * 8] = bits(1.0f), a[row * 8 + 1] = bits(0x1.8p-24f);
    b.assign(128, bits(1.0f));
    for (const float y : multiply(0, a, b, 1, LaunchOptions::Order::ascending)) EXPECT_EQ(y, 1.0f);
}

struct Split {
    float high, low, rounded;
};
std::vector<Split> split(const std::vector<float>& x) {
    const Program program(kernel_source(R"(
extern "C" __global__ void kernel(const ConvtArgs args) {
    const float v = load_global(static_cast<const float*>(args.x) + blockIdx.x);
    unsigned high, low;
    tf32_words(v, high, low);
    unsigned* const y = static_cast<unsigned*>(args.y) + 3 * blockIdx.x;
    store_global(y, high);
    store_global(y + 1, low);
    store_global(y + 2, tf32_word(v) & 0xffffe000u);
}
)"));
    std::vector<Split> y(x.size());
    ConvtArgs args{};
    args.x = x.data();
    args.y = y.data();
    LaunchOptions options;
    options.grid[0] = static_cast<std::uint32_t>(x.size());
    options.ranges = {{x.data(), x.size() * 4, false, "x"}, {y.data(), y.size() * sizeof(Split), true, "y"}};
    program.launch(options, &args);
    return y;
}

TEST(Tf32Words, AreNearTheNumber) {
    std::vector<float> x;
    std::uint32_t state = 1;
    for (int i = 0; i < 20000; ++i) {
        state = state * 1664525 + 1013904223;
        const float mantissa = 1.0f + static_cast<float>(state >> 9) * 0x1p-23f;
        x.push_back(std::ldexp(i % 2 == 0 ? mantissa : -mantissa, static_cast<int>(state >> 3 & 63) - 32));
    }
    const std::vector<Split> words = split(x);
    double drift = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double v = x[i];
        EXPECT_EQ(double{words[i].high} + words[i].low, v);
        EXPECT_LE(std::fabs(words[i].low), std::fabs(v) * 0x1p-11);
        EXPECT_LE(std::fabs(words[i].rounded - v), std::fabs(v) * 0x1.6p-11);
        drift += (words[i].rounded - v) / v;
    }
    EXPECT_LT(std::fabs(drift / static_cast<double>(x.size())), 0x1p-15) << "what is cut off is nothing on average";
}

TEST(Tf32Words, KnowWhatCannotBeSplit) {
    constexpr float inf = std::numeric_limits<float>::infinity();
    const float all_ones = std::bit_cast<float>(0x7fffffffu), quiet = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> x = {inf, -inf, quiet, all_ones, 1.5f, 0.0f, -3.0f, 0x1.ffcp100f};
    const std::vector<Split> words = split(x);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(words[i].low)) << i;
    EXPECT_EQ(words[0].rounded, inf);
    EXPECT_EQ(words[1].rounded, -inf);
    EXPECT_TRUE(std::isnan(words[2].rounded));
    EXPECT_TRUE(std::isnan(words[3].rounded));
    for (std::size_t i = 4; i < x.size(); ++i) EXPECT_EQ(words[i].rounded, x[i]) << "tf32 holds it";
}

}  // namespace
}  // namespace convt_jit::sim
