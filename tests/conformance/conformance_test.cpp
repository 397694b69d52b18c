// The layers of other projects' suites and of real networks: all of them on a GPU, a selection that fits CI on the
// simulator.

#include "conformance/check.h"
#include "conformance/parallel.h"
#include "conformance/selection.h"
#include "conformance/subject.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <mutex>
#include <sstream>

namespace convt_jit::test {
namespace {

constexpr int kShards = 8;
constexpr std::uint64_t kSeed = 20240607;

Limits limits_for(const Device& device) {
    if (device.is_cuda()) return {};
    Limits limits;
    limits.one = 1e7;
    limits.all = 4e8;
    limits.programs = number_from("CONVT_TEST_PROGRAMS", 100);  // fewer where the host's code is instrumented
    limits.seed = number_from("CONVT_TEST_SEED", kSeed);
    return limits;
}

// Samples that differ; the others repeat them, so that host memory and time stay small for the largest layers.
std::int64_t period_of(const Case& item) {
    constexpr std::int64_t kElements = 1 << 24;
    const Sizes one = sizes(item.layer, {1, item.shape.input});
    const std::int64_t period = std::max<std::int64_t>(1, kElements / std::max(one.x, one.y));
    return period >= item.shape.batch ? 0 : period - (period % 2 == 0 ? 1 : 0);
}

// Bytes on the host while a case is checked: the images of its tensors, twice, and numbers of its differing samples.
std::int64_t memory_of(const Case& item) {
    const Sizes whole = sizes(item.layer, item.shape);
    const std::int64_t period = period_of(item);
    const Sizes part = sizes(item.layer, {period > 0 ? period : item.shape.batch, item.shape.input});
    const auto element = static_cast<std::int64_t>(size_of(item.layer.dtype));
    return 2 * element * (whole.x + whole.w + whole.y) + 8 * (part.x + part.w + 3 * part.y);
}

Against against(const Case& item, const Device& device, std::uint64_t seed) {
    const std::int64_t period = period_of(item);
    Against result;
    if (!device.is_cuda()) return result;
    result.host = products(item.layer, {period > 0 ? period : item.shape.batch, item.shape.input}) < 5e7;
    // The reference family is itself compared with the host on a part of the small ones.
    result.device = !result.host || seed % 8 == 0;
    return result;
}

std::string check_numbers(const Device& device, const Case& item) {
    const auto got = run(engine(), device, item.layer, item.shape, item.numbers->tensors);
    const auto& want = item.numbers->expected;
    if (got.size() != want.size()) return "other number of elements than the source's";
    for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::abs(got[i] - want[i]) <= item.numbers->abs + item.numbers->rel * std::abs(want[i])) continue;
        std::ostringstream text;
        text << "the source's own numbers: y[" << i << "] = " << got[i] << " instead of " << want[i];
        return text.str();
    }
    return {};
}

std::string check_case(const Device& device, const Case& item, std::uint64_t seed) {
    RunOptions options;
    options.period = period_of(item);
    std::string failure = check(engine(), device, item.layer, item.shape, seed, against(item, device, seed), options);
    if (failure.empty() && item.numbers) {
        try {
            failure = check_numbers(device, item);
        } catch (const std::exception& error) {
            failure = error.what();
        }
    }
    return failure;
}

class Conformance : public testing::TestWithParam<int> {};

// What judges must itself know the dtype: rounding may overflow, and must not hide what is wrong.
TEST(Differences, KnowWhereTheDtypeOverflows) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const Layer layer = parse_layer("c1 o1 k3 f16");
    EXPECT_EQ(differences(layer, {1, inf, -inf}, {1, 70000, -1e30}), "");
    EXPECT_EQ(differences(layer, {1, 65504}, {1, 65530}), "");
    EXPECT_NE(differences(layer, {1, 65504}, {1, 1e6}), "");
    EXPECT_NE(differences(layer, {1, inf}, {1, 1}), "");
    EXPECT_NE(differences(layer, {1, inf, 1.1}, {1, 70000, 1}), "") << "a wrong one beside one that overflows";
}

TEST_P(Conformance, LayersMatchTheDefinition) {
    CONVT_SUBJECT(device);
    const std::vector<Case> cases = shard_of(all_cases(), GetParam(), kShards);
    const std::vector<std::size_t> chosen = choose(cases, limits_for(device));

    MemoryLimit memory(std::int64_t{24} << 30);
    std::mutex mutex;
    parallel(chosen.size(), threads(device), [&](std::size_t i) {
        const Case& item = cases[chosen[i]];
        const MemoryLimit::Hold hold(memory, memory_of(item));
        const std::string failure = check_case(device, item, kSeed + chosen[i]);
        if (failure.empty()) return;
        const std::scoped_lock lock(mutex);
        ADD_FAILURE() << name_of(item) << "\n" << failure;
    });
    std::cout << device.name() << ": " << chosen.size() << " cases ran, " << cases.size() - chosen.size()
              << " were left out for time\n";
    EXPECT_FALSE(chosen.empty());
}

INSTANTIATE_TEST_SUITE_P(Shard, Conformance, testing::Range(0, kShards));

TEST(Cases, EveryFileIsRead) {
    for (const auto& [file, least] :
         {std::pair("onnx", 14), {"burn", 21}, {"pytorch", 311}, {"onednn", 374}, {"xnnpack", 746}}) {
        EXPECT_GE(read_cases(data_path("peers/" + std::string(file) + ".jsonl")).size(),
                  static_cast<std::size_t>(least))
            << file;
    }
}

TEST(Cases, ShardsHoldEveryCaseOnce) {
    const std::vector<Case> cases = all_cases();
    std::size_t total = 0;
    for (int shard = 0; shard < kShards; ++shard) total += shard_of(cases, shard, kShards).size();
    EXPECT_EQ(total, cases.size());
}

TEST(Cases, SelectionKeepsItsLimitsAndAllNumbers) {
    const std::vector<Case> cases = all_cases();
    Limits limits;
    limits.all = 1e8;
    limits.programs = 100;
    double total = 0;
    std::size_t with_numbers = 0, chosen_with_numbers = 0;
    for (const Case& item : cases) with_numbers += item.numbers.has_value();
    for (const std::size_t i : choose(cases, limits)) {
        total += cost(cases[i]);
        chosen_with_numbers += cases[i].numbers.has_value();
    }
    EXPECT_LE(total, limits.all);
    EXPECT_EQ(chosen_with_numbers, with_numbers);
    EXPECT_EQ(choose(cases, {}).size(), cases.size());
}

TEST(Cases, LayoutsConvertIntoEachOther) {
    const std::vector<double> first = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};  // 2 samples, 3 channels, 2 pixels
    const std::vector<double> last = {0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11};
    EXPECT_EQ(to_layout(first, 2, 3, Layout::channels_last), last);
    EXPECT_EQ(from_layout(last, 2, 3, Layout::channels_last), first);
}

}  // namespace
}  // namespace convt_jit::test
