// Packed weights on the simulator: which weights a launch computes with.
#include "convt_jit/convt_jit.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace convt_jit {
namespace {

// A layer of one tile in f32, whose results are exact: x is 1, all weights are alike.
class PackedWeightsTest : public ::testing::Test {
protected:
    // The first output (one tap of 16 channels), in units of a weight of 1.
    float first_output(const std::vector<float>& w, std::uint64_t version, StreamHandle stream = nullptr) {
        std::fill(y_.begin(), y_.end(), -1.0f);
        Tensors tensors;
        tensors.x = x_.data(), tensors.w = w.data(), tensors.y = y_.data();
        tensors.weights_version = version;
        kernel_.launch(tensors, known_shape(layer_), stream);
        return y_[0] / 16;
    }
    std::vector<float> weights(float value) const {
        return std::vector<float>(static_cast<std::size_t>(sizes(layer_, known_shape(layer_)).w), value);
    }

    Layer layer_ = parse_layer("n1 c16 o16 in8 k3");
    Engine engine_{EngineOptions{""}};
    Kernel kernel_ = engine_.prepare(layer_, {Device::simulator(), "implicit_gemm", false, Policy::wait});
    std::vector<float> x_ = std::vector<float>(16 * 8, 1.0f), y_ = std::vector<float>(16 * 10);
    StreamHandle a_ = reinterpret_cast<StreamHandle>(0xa), b_ = reinterpret_cast<StreamHandle>(0xb);
};

TEST_F(PackedWeightsTest, FollowTheVersion) {
    std::vector<float> w = weights(1);
    EXPECT_EQ(first_output(w, 1), 1);
    std::fill(w.begin(), w.end(), 2.0f);
    EXPECT_EQ(first_output(w, 1), 1) << "the caller says that they are as they were";
    EXPECT_EQ(first_output(w, 2), 2);
    std::fill(w.begin(), w.end(), 3.0f);
    EXPECT_EQ(first_output(w, 0), 3);
    std::fill(w.begin(), w.end(), 4.0f);
    EXPECT_EQ(first_output(w, 0), 4);
    EXPECT_EQ(first_output(w, 2), 4) << "version 0 leaves nothing that a later launch could take for version 2";
    const std::vector<float> others = weights(5);
    EXPECT_EQ(first_output(others, 2), 5) << "other weights";
}

TEST_F(PackedWeightsTest, AreThoseOfTheStream) {
    std::vector<float> w = weights(1);
    EXPECT_EQ(first_output(w, 1, a_), 1);
    std::fill(w.begin(), w.end(), 2.0f);
    EXPECT_EQ(first_output(w, 1, b_), 2);
    EXPECT_EQ(first_output(w, 1, a_), 1);
}

TEST_F(PackedWeightsTest, ArePackedAhead) {
    std::vector<float> w = weights(1);
    kernel_.pack_weights(w.data(), 1);
    std::fill(w.begin(), w.end(), 2.0f);
    EXPECT_EQ(first_output(w, 1), 1);
    kernel_.pack_weights(w.data(), 2);
    std::fill(w.begin(), w.end(), 3.0f);
    EXPECT_EQ(first_output(w, 2), 2);
    kernel_.pack_weights(w.data(), 0);
    EXPECT_EQ(first_output(w, 2), 2) << "nothing is packed for version 0";
}

TEST_F(PackedWeightsTest, AreThoseOfTheHandle) {
    const Kernel first = kernel_;
    std::vector<float> w = weights(1);
    EXPECT_EQ(first_output(w, 1), 1);
    kernel_ = engine_.prepare(layer_, {Device::simulator(), "implicit_gemm", false, Policy::wait});
    EXPECT_EQ(kernel_.info().origin, Origin::memory);
    std::fill(w.begin(), w.end(), 2.0f);
    EXPECT_EQ(first_output(w, 1), 2) << "a prepare of its own has packed nothing yet";
    kernel_ = first;
    EXPECT_EQ(first_output(w, 1), 1);
}

TEST_F(PackedWeightsTest, TakeWhatTheInfoSays) {
    // 8 channels a chunk: 2 chunks of 3 taps, a step each, of 16 channels by 8 words.
    const Kernel kernel =
        engine_.prepare(layer_, {Device::simulator(),
                                 "implicit_gemm positions=1x16 block_channels=16 warps_m=1 warps_n=1 chunk=8 stages=2",
                                 false, Policy::wait});
    EXPECT_EQ(kernel.info().packed_bytes, 4u * 2 * 3 * 16 * 8);
    EXPECT_EQ(engine_.prepare(layer_, {Device::simulator(), "unrolled", false, Policy::wait}).info().packed_bytes, 0u);
}

}  // namespace
}  // namespace convt_jit
