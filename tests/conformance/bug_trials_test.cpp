// Bugs that users reported to other projects, as trials with known numbers. `elsewhere` lists those without numbers of
// their own and where they are tested.

#include "conformance/case_json.h"
#include "conformance/cases.h"
#include "conformance/check.h"
#include "conformance/subject.h"
#include "conformance/trials.h"
#include "sha256.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

namespace convt_jit::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Layer layer_of(const std::string& id, std::size_t number, DType dtype = DType::f32) {
    Layer layer = layer_from(trial(id).at("cases").at(number));
    layer.dtype = dtype;
    return layer;
}

// y in channels-first order, from tensors in channels-first order.
std::vector<double> outputs(const Device& device, Layer layer, const HostTensors& first, Layout layout,
                            const PrepareOptions& prepare = {}) {
    layer.layout = layout;
    const Shape shape = known_shape(layer);
    HostTensors tensors = first;
    tensors.x = to_layout(first.x, shape.batch, layer.in_channels, layout);
    RunOptions options;
    options.prepare = prepare;
    return from_layout(run(engine(), device, layer, shape, tensors, options), shape.batch, layer.out_channels, layout);
}

constexpr Layout kLayouts[] = {Layout::channels_first, Layout::channels_last};

class HashTrials : public testing::TestWithParam<HashTrial> {};

TEST_P(HashTrials, OutputHasTheKnownDigest) {
    CONVT_SUBJECT(device);
    const auto& [name, layer, digest] = GetParam();
    const HostTensors tensors = hash_fill(layer, known_shape(layer));
    ASSERT_EQ(sha16(reference(layer, known_shape(layer), tensors)), digest)
        << "the reference itself: " << to_string(layer);
    for (const Layout layout : kLayouts) {
        EXPECT_EQ(sha16(outputs(device, layer, tensors, layout)), digest)
            << to_string(layer) << " " << to_string(layout);
    }
}

INSTANTIATE_TEST_SUITE_P(Trial, HashTrials, testing::ValuesIn(hash_trials()),
                         [](const auto& item) { return item.param.name; });

TEST(BugTrials, BR03PointwiseStride) {
    CONVT_SUBJECT(device);
    Layer layer = layer_of("BR-03", 0);
    layer.bias = true;
    HostTensors tensors;
    tensors.x = {-2, -0.5};
    tensors.w = {-0.75};
    tensors.bias = {0.25};
    for (const Layout layout : kLayouts) {
        EXPECT_EQ(outputs(device, layer, tensors, layout), (std::vector<double>{1.75, 0.25, 0.625}));
    }
}

TEST(BugTrials, BR07ChannelRemaindersIn16Bits) {
    CONVT_SUBJECT(device);
    for (std::size_t number = 0; number < 3; ++number) {
        for (const DType dtype : {DType::f16, DType::bf16}) {
            const Layer layer = layer_of("BR-07", number, dtype);
            const HostTensors tensors = hash_fill(layer, known_shape(layer));
            const auto rounded = decode(dtype, encode(dtype, reference(layer, known_shape(layer), tensors)));
            EXPECT_EQ(outputs(device, layer, tensors, Layout::channels_first), rounded) << to_string(layer);
        }
    }
}

TEST(BugTrials, BR10IllegalParametersNameTheirField) {
    const std::vector<std::pair<std::size_t, std::string>> wrong = {
        {0, "output_padding"}, {1, "output_padding"}, {2, "output_padding"}, {3, "out_channels"}};
    for (const auto& [number, field] : wrong) {
        const Layer layer = layer_of("BR-10", number);
        try {
            validate(layer);
            ADD_FAILURE() << number << " was accepted";
        } catch (const LayerError& error) {
            const bool named =
                error.field().rfind(field, 0) == 0 || (number == 3 && error.field().rfind("groups", 0) == 0);
            EXPECT_TRUE(named) << error.what();
            EXPECT_FALSE(error.allowed().empty());
        }
    }
    // An absurd wish for an output size is an error, and nothing is allocated for it.
    const Layer layer = layer_of("BR-10", 6);
    EXPECT_THROW((void)output_padding_for(layer, layer.input, {114078056}), LayerError);
}

TEST(BugTrials, BR12MemoryFormats) {
    CONVT_SUBJECT(device);
    Layer layer = layer_of("BR-12", 0);
    layer.bias = true;
    HostTensors tensors;
    tensors.x.assign(4, 1.0);
    tensors.w.assign(50, 1.0);
    tensors.bias = {1, 2};
    const std::string digest = trial("BR-12").at("expect").at("values").at(0).at("sha16");
    for (const Layout layout : kLayouts) EXPECT_EQ(sha16(outputs(device, layer, tensors, layout)), digest);
}

TEST(BugTrials, BR16PaddingThatEatsTheOutput) {
    CONVT_SUBJECT(device);
    for (std::size_t number = 0; number < 4; ++number) {
        const Layer layer = layer_of("BR-16", number);
        EXPECT_THROW(validate(layer, known_shape(layer)), LayerError) << to_string(layer.pad_begin);
        const Layer good = parse_layer("n1 c2 o2 in3x3 k2x2");
        EXPECT_EQ(check(engine(), device, good, known_shape(good), 2), "");
    }
}

TEST(BugTrials, BR19InfiniteWeightsLeaveHolesAlone) {
    CONVT_SUBJECT(device);
    HostTensors tensors;
    tensors.x = {1, -2, 3, -4};
    tensors.w.assign(4, kInf);
    tensors.bias = {0.5};
    std::vector<double> want(25, 0.5);
    for (std::size_t row : {0, 1, 3, 4}) {
        for (std::size_t column : {0, 1, 3, 4}) want[row * 5 + column] = column < 2 ? kInf : -kInf;
    }
    for (const DType dtype : {DType::f32, DType::f16}) {
        for (const bool exact : {false, true}) {
            Layer layer = layer_of("BR-19", 0, dtype);
            layer.bias = true;
            PrepareOptions prepare;
            prepare.exact_nonfinite = exact;
            EXPECT_EQ(outputs(device, layer, tensors, Layout::channels_first, prepare), want) << to_string(layer);
        }
    }
}

TEST(BugTrials, BR19InfiniteWeightsAtTheBorder) {
    CONVT_SUBJECT(device);
    HostTensors tensors;
    tensors.x.assign(16, 1.0);
    tensors.w.assign(9, kInf);
    PrepareOptions exact;
    exact.exact_nonfinite = true;
    for (const Layout layout : kLayouts) {
        EXPECT_EQ(outputs(device, layer_of("BR-19", 1, DType::f16), tensors, layout, exact),
                  std::vector<double>(36, kInf));
    }
}

TEST(BugTrials, BR19NaNStaysInItsFootprint) {
    CONVT_SUBJECT(device);
    HostTensors tensors;
    tensors.x.assign(16, 1.0);
    tensors.x[5] = kNaN;
    tensors.w.assign(9, 1.0);
    for (const bool exact : {false, true}) {
        PrepareOptions prepare;
        prepare.exact_nonfinite = exact;
        const auto y = outputs(device, layer_of("BR-19", 2), tensors, Layout::channels_first, prepare);
        ASSERT_EQ(y.size(), 36u);
        for (std::size_t i = 0; i < y.size(); ++i) {
            const bool inside = i / 6 >= 1 && i / 6 <= 3 && i % 6 >= 1 && i % 6 <= 3;
            EXPECT_EQ(std::isnan(y[i]), inside) << i;
            EXPECT_EQ(std::isfinite(y[i]), !inside) << i;
        }
    }
}

TEST(BugTrials, BR21LongSumsInF16) {
    CONVT_SUBJECT(device);
    const Layer layer = layer_of("BR-21", 0, DType::f16);
    const Shape shape = known_shape(layer);
    std::mt19937_64 generator(21);
    const auto uniform = [&](std::int64_t count, double low, double high) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < count; ++i)
            values.push_back(low + (high - low) * static_cast<double>(generator() >> 11) * 0x1p-53);
        return decode(DType::f16, encode(DType::f16, values));
    };
    HostTensors tensors;
    tensors.x = uniform(sizes(layer, shape).x, -1, 13);
    tensors.w = uniform(sizes(layer, shape).w, -2, -1);
    const auto want = reference(layer, shape, tensors);
    const auto got = run(engine(), device, layer, shape, tensors);
    ASSERT_EQ(got.size(), want.size());
    double largest = 0, largest_ulps = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
        const double ulp = std::ldexp(1.0, std::max(std::ilogb(want[i]), -14) - 10);
        largest = std::max(largest, std::abs(want[i]));
        largest_ulps = std::max(largest_ulps, std::abs(got[i] - want[i]) / ulp);
    }
    EXPECT_LE(largest_ulps, 1.0);
    EXPECT_GT(largest, 20000) << "the sums are not long";
}

TEST(BugTrials, BR22Subnormals) {
    CONVT_SUBJECT(device);
    HostTensors a, b, c;
    a.x = {0x1p-140, 0x1p-149, -0x1p-130};
    b.x = {0x1p-100, 0x1p-70};
    c.x = {0x1p-20, 0x1p-24};
    a.w = c.w = {1};
    b.w = {0x1p-40};
    EXPECT_EQ(outputs(device, layer_of("BR-22", 0), a, Layout::channels_first), a.x);
    EXPECT_EQ(outputs(device, layer_of("BR-22", 1), b, Layout::channels_first),
              (std::vector<double>{0x1p-140, 0x1p-110}));
    EXPECT_EQ(outputs(device, layer_of("BR-22", 2, DType::f16), c, Layout::channels_first), c.x);
}

TEST(BugTrials, BR28PadsOfSameUpper) {
    CONVT_SUBJECT(device);
    Layer layer = layer_of("BR-28", 0);
    layer.pad_begin = layer.pad_end = {1, 1};  // what SAME_UPPER comes to here
    HostTensors tensors;
    tensors.x = {2, 3, 4, 5};
    tensors.w = {2, 3, 4, 5, 6, 7, 8, 9, 10};
    EXPECT_EQ(outputs(device, layer, tensors, Layout::channels_first), (std::vector<double>{49, 63, 91, 105}));
}

// Trials that are about more than numbers. Their numbers, where they have any, are run by HashTrials all the same.
const std::map<std::string, std::string> elsewhere = {
    {"BR-14", "HashTrials: tensors are contiguous by contract, views do not exist in this interface"},
    {"BR-28", "the numbers here; deriving the pads in onnx_test.cpp"},
    {"BR-31", "the numbers in HashTrials; default attributes in onnx_test.cpp"},
    {"BR-33", "the numbers in HashTrials; loading in onnx_test.cpp"},
    {"BR-35", "external data of ONNX models: onnx_test.cpp"},
    {"BR-36", "concurrent processes on one cache: tests/unit/cache and tests/fault"},
    {"BR-38", "missing and read-only directories: tests/unit/cache and tests/fault"},
    {"BR-40", "full disk: tests/fault"},
    {"BR-42", "what the key depends on: tests/unit/cache"},
    {"BR-44", "an arch that NVRTC does not know: tests/unit/compile"},
    {"BR-47", "entries hold machine code, never PTX: tests/unit/compile"},
    {"BR-49", "tests/gpu/graph_test.cpp"},
    {"BR-51", "tests/gpu/threads_test.cpp"},
    {"BR-53", "tests/gpu/context_test.cpp"},
    {"BR-54", "tests/gpu/stream_test.cpp"},
    {"BR-56", "warm-up of a model: the warmup command, later work"},
    {"BR-58", "real ONNX files: onnx_test.cpp, and tests/unit/onnx"},
};

TEST(BugTrials, NoneIsForgotten) {
    const std::set<std::string> by_name = {"BR-03", "BR-07", "BR-10", "BR-12", "BR-16",
                                           "BR-19", "BR-21", "BR-22", "BR-28"};
    std::set<std::string> by_digest;
    for (const HashTrial& item : hash_trials()) by_digest.insert("BR-" + item.name.substr(3, 2));
    for (const auto& item : read_trials()) {
        const std::string id = item.at("id");
        EXPECT_TRUE(by_name.count(id) || by_digest.count(id) || elsewhere.count(id)) << id;
    }
    EXPECT_GE(hash_trials().size(), 22u);
}

TEST(Sha256, KnowsTheStandardsExamples) {
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace convt_jit::test
