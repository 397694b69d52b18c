// Random layers against the definition. A failure prints a layer string and a seed; $CONVT_TEST_SEED and
// $CONVT_TEST_COUNT choose other layers ("CONVT_TEST_SEED=123 CONVT_TEST_COUNT=1" one of them).

#include "conformance/check.h"
#include "conformance/parallel.h"
#include "conformance/random_layer.h"
#include "conformance/subject.h"

#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convt_jit::test {
namespace {

constexpr int kShards = 4;
constexpr std::uint64_t kSeed = 7000;

// A third of the layers by the default choice, a third by the family that serves everything, a third by any tile.
std::string plan_for(const Device& device, const RandomLayer& drawn, std::uint64_t seed) {
    if (seed % 3 == 0) return "";
    if (seed % 3 == 1) return "direct";
    PrepareOptions options;
    options.exact_nonfinite = drawn.exact_nonfinite;
    const auto plans = Engine::plans(drawn.layer, device.is_cuda() ? device.arch() : "sm_80",
                                     std::numeric_limits<std::size_t>::max(), options);
    return plans[seed / 3 * 7919 % plans.size()];
}

// Those of one family, best first.
std::vector<std::string> plans_of(std::string_view family, const Layer& layer, const std::string& arch,
                                  std::size_t most) {
    std::vector<std::string> plans;
    for (std::string& plan : Engine::plans(layer, arch, most))
        if (plan.substr(0, plan.find(' ')) == family) plans.push_back(std::move(plan));
    return plans;
}

std::string check_random(const Device& device, std::uint64_t seed) {
    const RandomLayer drawn = random_layer(seed, device.is_cuda() ? 2e7 : 1e6);
    RunOptions options;
    options.prepare.exact_nonfinite = drawn.exact_nonfinite;
    options.prepare.plan = plan_for(device, drawn, seed);
    options.residual_is_y = drawn.residual_is_y;
    options.forget_sizes = drawn.forget_sizes;
    return check(engine(), device, drawn.layer, drawn.shape, seed, {}, options);
}

// A layer on tensor cores, by any tile of the family. `served` tells whether it has one: far-apart taps may not fit.
std::string check_matrices(const Device& device, std::string_view family, std::uint64_t seed, bool& served) {
    RandomLayer drawn = random_layer(seed, device.is_cuda() ? 2e7 : 4e5);
    drawn.layer.layout = Layout::channels_first;
    const std::string simulated = family == "implicit_gemm_sm90" ? "sm_90" : "sm_80";
    const std::vector<std::string> plans =
        plans_of(family, drawn.layer, device.is_cuda() ? device.arch() : simulated, 2000);
    served = !plans.empty();
    if (!served) return {};
    RunOptions options;
    options.prepare.plan = plans[seed * 7919 % plans.size()];
    // Blocks of these layers seldom get a second tile, unless there are few of them.
    constexpr std::string_view kProcessors = "processors=132";
    if (const std::size_t at = options.prepare.plan.find(kProcessors); at != std::string::npos && seed / 4 % 4 != 0)
        options.prepare.plan.replace(at, kProcessors.size(), seed / 4 % 4 == 1 ? "processors=1" : "processors=5");
    options.residual_is_y = drawn.residual_is_y;
    options.forget_sizes = drawn.forget_sizes;
    const std::string failure = check(engine(), device, drawn.layer, drawn.shape, seed, {}, options);
    return failure.empty() ? failure : options.prepare.plan + "\n" + failure;
}

std::uint64_t first_seed() { return number_from("CONVT_TEST_SEED", kSeed); }

// Of $CONVT_TEST_COUNT or `count` seeds those of one shard.
std::vector<std::uint64_t> seeds_of(int shard, std::uint64_t count) {
    count = number_from("CONVT_TEST_COUNT", count);
    std::vector<std::uint64_t> seeds;
    for (std::uint64_t i = static_cast<std::uint64_t>(shard); i < count; i += kShards)
        seeds.push_back(first_seed() + i);
    return seeds;
}

class Property : public testing::TestWithParam<int> {};

TEST_P(Property, RandomLayersMatchTheDefinition) {
    CONVT_SUBJECT(device);
    const std::vector<std::uint64_t> seeds = seeds_of(GetParam(), device.is_cuda() ? 1000 : 100);
    std::mutex mutex;
    parallel(seeds.size(), threads(device), [&](std::size_t i) {
        const std::string failure = check_random(device, seeds[i]);
        if (failure.empty()) return;
        const std::scoped_lock lock(mutex);
        ADD_FAILURE() << "CONVT_TEST_SEED=" << seeds[i] << " CONVT_TEST_COUNT=1\n" << failure;
    });
    std::cout << device.name() << ": " << seeds.size() << " random layers from seed " << first_seed() << "\n";
}

void expect_matrices(const Device& device, std::string_view family, const std::vector<std::uint64_t>& seeds) {
    std::mutex mutex;
    std::size_t without_tile = 0;
    parallel(seeds.size(), threads(device), [&](std::size_t i) {
        bool served = false;
        const std::string failure = check_matrices(device, family, seeds[i], served);
        const std::scoped_lock lock(mutex);
        without_tile += served ? 0 : 1;
        if (!failure.empty()) ADD_FAILURE() << "CONVT_TEST_SEED=" << seeds[i] << " CONVT_TEST_COUNT=1\n" << failure;
    });
    EXPECT_LE(without_tile * 10, seeds.size()) << "nearly all layers have a tile";
}

TEST_P(Property, RandomLayersMatchTheDefinitionOnTensorCores) {
    CONVT_SUBJECT(device);
    if (device.is_cuda() && std::stoi(device.arch().substr(3)) < 80) GTEST_SKIP() << "needs sm_80 or newer";
    expect_matrices(device, "implicit_gemm", seeds_of(GetParam(), device.is_cuda() ? 500 : 60));
}

TEST_P(Property, RandomLayersMatchTheDefinitionOnWarpgroups) {
    CONVT_HOPPER(device);
    expect_matrices(device, "implicit_gemm_sm90", seeds_of(GetParam(), device.is_cuda() ? 500 : 40));
}

// Without a GPU it can be told, at least, that the tests above have something to run.
TEST(RandomLayers, HaveTilesOfWarpgroups) {
    std::size_t without_tile = 0;
    constexpr std::uint64_t kCount = 40;
    for (std::uint64_t seed = kSeed; seed < kSeed + kCount; ++seed) {
        RandomLayer drawn = random_layer(seed, 2e7);
        drawn.layer.layout = Layout::channels_first;
        without_tile += plans_of("implicit_gemm_sm90", drawn.layer, "sm_90", 1).empty();
        EXPECT_TRUE(plans_of("implicit_gemm_sm90", drawn.layer, "sm_80", 1).empty()) << "the simulator's arch";
    }
    EXPECT_LE(without_tile * 10, kCount);
}

INSTANTIATE_TEST_SUITE_P(Shard, Property, testing::Range(0, kShards));

TEST(RandomLayers, AreValidAndReachEveryOption) {
    int dims[4] = {}, grouped = 0, last = 0, asymmetric = 0, beyond_stride = 0, tf32 = 0, bias_only = 0;
    for (std::uint64_t seed = 0; seed < 500; ++seed) {
        const RandomLayer drawn = random_layer(seed, 1e6);
        const Layer& layer = drawn.layer;
        ASSERT_NO_THROW(validate(layer, drawn.shape)) << to_string(layer);
        ASSERT_EQ(parse_layer(to_string(layer)), layer) << to_string(layer);
        ++dims[layer.spatial_dims()];
        grouped += layer.groups > 1;
        last += layer.layout == Layout::channels_last;
        asymmetric += layer.pad_begin != layer.pad_end;
        tf32 += layer.precision == Precision::tf32;
        for (int axis = 0; axis < layer.spatial_dims(); ++axis) {
            beyond_stride += layer.output_padding[axis] >= layer.stride[axis];
            bias_only += layer.kernel[axis] < layer.stride[axis];
        }
    }
    for (const int count : {dims[1], dims[2], dims[3], grouped, last, asymmetric, beyond_stride, tf32, bias_only})
        EXPECT_GT(count, 20);
}

}  // namespace
}  // namespace convt_jit::test
