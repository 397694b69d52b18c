// The reference against everything that peers and bug reports give in numbers: all else is judged by it.
#include "convt_jit/error.h"
#include "sha256.h"
#include "trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace convt_jit {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

void check_peer(const std::string& file, int cases_with_data) {
    int checked = 0;
    for (const Json& c : read_lines("peers/" + file)) {
        SCOPED_TRACE(c["id"].get<std::string>());
        Layer layer = layer_of(c);
        const Shape shape = known_shape(layer);
        EXPECT_EQ(output_size(layer, shape.input), dims(c["out_spatial"]));
        if (!c.contains("data")) continue;
        HostTensors tensors;
        tensors.x = c["data"]["input"].get<std::vector<double>>();
        tensors.w = c["data"]["weight"].get<std::vector<double>>();
        if (!c["data"]["bias"].is_null()) {
            layer.bias = true;
            tensors.bias = c["data"]["bias"].get<std::vector<double>>();
        }
        const auto want = c["data"]["expected"].get<std::vector<double>>();
        const auto got = reference(layer, shape, tensors);
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t i = 0; i < got.size(); ++i)
            EXPECT_NEAR(got[i], want[i],
                        c["tol"]["abs"].get<double>() + c["tol"]["rel"].get<double>() * std::abs(want[i]));
        ++checked;
    }
    EXPECT_EQ(checked, cases_with_data);
}

TEST(Peers, Onnx) { check_peer("onnx.jsonl", 14); }
TEST(Peers, Burn) { check_peer("burn.jsonl", 19); }

TEST(Peers, OutputSizesOfAllOthers) {
    int checked = 0;
    for (const char* file : {"pytorch.jsonl", "onednn.jsonl", "xnnpack.jsonl"})
        for (const Json& c : read_lines(std::string("peers/") + file)) {
            SCOPED_TRACE(c["id"].get<std::string>());
            EXPECT_EQ(output_size(layer_of(c), dims(c["in_spatial"])), dims(c["out_spatial"]));
            ++checked;
        }
    EXPECT_EQ(checked, 311 + 374 + 746);
}

class BugTrials : public testing::Test {
protected:
    static const Json& trial(const std::string& id) {
        static const auto trials = [] {
            std::map<std::string, Json> by_id;
            for (const Json& t : read_lines("bug_trials.jsonl")) by_id[t["id"]] = t;
            return by_id;
        }();
        return trials.at(id);
    }

    static std::vector<double> run(const Json& c, const HostTensors& tensors) {
        Layer layer = layer_of(c);
        layer.bias = !tensors.bias.empty();
        return reference(layer, known_shape(layer), tensors);
    }
};

void check_values(const std::vector<double>& y, const Json& want) {
    ASSERT_EQ(
        static_cast<std::int64_t>(y.size()),
        std::accumulate(want["out_shape"].begin(), want["out_shape"].end(), std::int64_t{1},
                        [](std::int64_t product, const Json& size) { return product * size.get<std::int64_t>(); }));
    std::string bytes;
    double sum = 0, abs_sum = 0;
    for (const double value : y) {
        sum += value;
        abs_sum += std::abs(value);
        const auto bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
        for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 0xff);
    }
    EXPECT_EQ(sum, want["sum"].get<double>());
    EXPECT_EQ(abs_sum, want["abs_sum"].get<double>());
    EXPECT_EQ(sha256(bytes).substr(0, 16), want["sha16"].get<std::string>());
    for (std::size_t i = 0; i < want["first8"].size(); ++i) EXPECT_EQ(y[i], want["first8"][i].get<double>());
    for (std::size_t i = 0, n = want["last8"].size(); i < n; ++i)
        EXPECT_EQ(y[y.size() - n + i], want["last8"][i].get<double>());
}

// Every case of every trial that is filled by hash and has a checksum.
TEST_F(BugTrials, HashFilled) {
    int checked = 0;
    for (const Json& t : read_lines("bug_trials.jsonl")) {
        const Json& values = t["expect"].value("values", Json::array());
        for (std::size_t i = 0; i < t["cases"].size(); ++i) {
            Json c = t["cases"][i];
            const auto is_this = [&](const Json& v) { return v.value("label", Json()) == c.value("label", Json()); };
            const auto want = std::find_if(values.begin(), values.end(), is_this);
            if (c["fill"] != "hashfill" || want == values.end() || !want->contains("sha16")) continue;
            SCOPED_TRACE(t["id"].get<std::string>() + " " + c.value("label", ""));
            if (c.value("auto_pad", "") == "SAME_UPPER") {  // what the ONNX importer makes of it, says the note
                c["pad_begin"] = {1, 1};
                c["pad_end"] = {1, 1};
            }
            HostTensors tensors;
            const Layer layer = layer_of(c);
            const Sizes size = sizes(layer, known_shape(layer));
            tensors.x = hashfilled(size.x, 1);
            tensors.w = hashfilled(size.w, 2);
            if (c["bias"] == "ramp") {
                tensors.bias.resize(static_cast<std::size_t>(size.channels));
                std::iota(tensors.bias.begin(), tensors.bias.end(), 1.0);
            } else {
                ASSERT_EQ(c["bias"], "none");
            }
            check_values(run(c, tensors), *want);
            ++checked;
        }
    }
    EXPECT_EQ(checked, 44);
}

TEST_F(BugTrials, Br03PixelWithoutTapIsTheBias) {
    HostTensors tensors;
    tensors.x = {-2, -0.5};
    tensors.w = {-0.75};
    tensors.bias = {0.25};
    EXPECT_EQ(run(trial("BR-03")["cases"][0], tensors), (std::vector<double>{1.75, 0.25, 0.625}));
}

TEST_F(BugTrials, Br12AllOnes) {
    const Json& t = trial("BR-12");
    HostTensors tensors;
    tensors.x.assign(4, 1);
    tensors.w.assign(50, 1);
    tensors.bias = {1, 2};
    check_values(run(t["cases"][0], tensors), t["expect"]["values"][0]);
}

TEST_F(BugTrials, Br19NonFinite) {
    const Json& cases = trial("BR-19")["cases"];
    HostTensors holes;
    holes.x = {1, -2, 3, -4};
    holes.w.assign(4, kInf);
    holes.bias = {0.5};
    EXPECT_EQ(run(cases[0], holes),
              (std::vector<double>{kInf, kInf, 0.5,  -kInf, -kInf, kInf,  kInf,  0.5,  -kInf, -kInf, 0.5,   0.5,  0.5,
                                   0.5,  0.5,  kInf, kInf,  0.5,   -kInf, -kInf, kInf, kInf,  0.5,   -kInf, -kInf}));
    HostTensors full;
    full.x.assign(16, 1);
    full.w.assign(9, kInf);
    EXPECT_EQ(run(cases[1], full), std::vector<double>(36, kInf));
    HostTensors footprint;
    footprint.x.assign(16, 1);
    footprint.x[5] = std::numeric_limits<double>::quiet_NaN();
    footprint.w.assign(9, 1);
    const auto y = run(cases[2], footprint);
    ASSERT_EQ(y.size(), 36U);
    for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t row = i / 6, column = i % 6;
        EXPECT_EQ(std::isnan(y[i]), row >= 1 && row <= 3 && column >= 1 && column <= 3) << i;
    }
}

TEST_F(BugTrials, Br22Subnormals) {
    const Json& cases = trial("BR-22")["cases"];
    HostTensors tensors;
    tensors.x = {0x1p-140, 0x1p-149, -0x1p-130};
    tensors.w = {1};
    EXPECT_EQ(run(cases[0], tensors), tensors.x);
    EXPECT_EQ(decode(DType::f32, encode(DType::f32, tensors.x)), tensors.x);
    tensors.x = {0x1p-100, 0x1p-70};
    tensors.w = {0x1p-40};
    EXPECT_EQ(run(cases[1], tensors), (std::vector<double>{0x1p-140, 0x1p-110}));
    tensors.x = {0x1p-20, 0x1p-24};
    tensors.w = {1};
    EXPECT_EQ(decode(DType::f16, encode(DType::f16, run(cases[2], tensors))), tensors.x);
}

TEST_F(BugTrials, Br28AutoPad) {
    const Json& t = trial("BR-28");
    Json c = t["cases"][0];
    c["pad_begin"] = c["pad_end"] = {1, 1};
    HostTensors tensors;
    tensors.x = {2, 3, 4, 5};
    tensors.w = {2, 3, 4, 5, 6, 7, 8, 9, 10};
    EXPECT_EQ(run(c, tensors), (std::vector<double>{49, 63, 91, 105}));
}

}  // namespace
}  // namespace convt_jit
