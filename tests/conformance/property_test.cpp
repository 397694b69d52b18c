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

std::string check_random(const Device& device, std::uint64_t seed) {
    const RandomLayer drawn = random_layer(seed, device.is_cuda() ? 2e7 : 1e6);
    RunOptions options;
    options.prepare.exact_nonfinite = drawn.exact_nonfinite;
    options.prepare.plan = plan_for(device, drawn, seed);
    options.residual_is_y = drawn.residual_is_y;
    options.forget_sizes = drawn.forget_sizes;
    return check(engine(), device, drawn.layer, drawn.shape, seed, {}, options);
}

// A layer on tensor cores, by any of their tiles. `served` tells whether it has one: far-apart taps may not fit.
std::string check_matrices(const Device& device, std::uint64_t seed, bool& served) {
    RandomLayer drawn = random_layer(seed, device.is_cuda() ? 2e7 : 4e5);
    drawn.layer.layout = Layout::channels_first;
    std::vector<std::string> plans;
    for (const std::string& plan : Engine::plans(drawn.layer, device.is_cuda() ? device.arch() : "sm_80", 2000))
        if (plan.starts_with("implicit_gemm ")) plans.push_back(plan);
    served = !plans.empty();
    if (!served) return {};
    RunOptions options;
    options.prepare.plan = plans[seed * 7919 % plans.size()];
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

TEST_P(Property, RandomLayersMatchTheDefinitionOnTensorCores) {
    CONVT_SUBJECT(device);
    if (device.is_cuda() && std::stoi(device.arch().substr(3)) < 80) GTEST_SKIP() << "needs sm_80 or newer";
    const std::vector<std::uint64_t> seeds = seeds_of(GetParam(), device.is_cuda() ? 500 : 60);
    std::mutex mutex;
    std::size_t without_tile = 0;
    parallel(seeds.size(), threads(device), [&](std::size_t i) {
        bool served = false;
        const std::string failure = check_matrices(device, seeds[i], served);
        const std::scoped_lock lock(mutex);
        without_tile += served ? 0 : 1;
        if (!failure.empty()) ADD_FAILURE() << "CONVT_TEST_SEED=" << seeds[i] << " CONVT_TEST_COUNT=1\n" << failure;
    });
    EXPECT_LE(without_tile * 10, seeds.size()) << "nearly all layers have a tile";
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
