// What a launch refuses, and with which word.

#include "gpu/gpu.h"

namespace convt_jit::test {
namespace {

class LaunchErrors : public testing::Test {
protected:
    void SetUp() override {
        CONVT_NEEDS_GPUS(1);
        device_.emplace(Device::cuda(0));
        engine_.emplace(fresh_engine());
        data_.emplace(*device_, k0());
        kernel_ = engine_->prepare(k0(), on(*device_));
    }
    void expect_refused(const Tensors& tensors, const Shape& shape, const std::string& field) {
        try {
            kernel_.launch(tensors, shape);
            ADD_FAILURE() << field << " was accepted";
        } catch (const LayerError& error) {
            EXPECT_EQ(error.field().rfind(field, 0), 0u) << error.what();
            EXPECT_FALSE(error.allowed().empty());
        }
        // Nothing was launched, and the next call works.
        kernel_.launch(data_->tensors(), data_->shape);
        EXPECT_EQ(sha16(data_->y()), kK0Digest);
    }
    std::optional<Device> device_;
    std::optional<Engine> engine_;
    std::optional<OnDevice> data_;
    Kernel kernel_;
};

TEST_F(LaunchErrors, MissingPointers) {
    for (const char* name : {"x", "w", "y"}) {
        Tensors tensors = data_->tensors();
        if (*name == 'x') tensors.x = nullptr;
        if (*name == 'w') tensors.w = nullptr;
        if (*name == 'y') tensors.y = nullptr;
        expect_refused(tensors, data_->shape, name);
    }
}

TEST_F(LaunchErrors, PointersThatTheLayerDoesNotUse) {
    Tensors tensors = data_->tensors();
    tensors.bias = tensors.w;
    expect_refused(tensors, data_->shape, "bias");
    tensors = data_->tensors();
    tensors.residual = tensors.y;
    expect_refused(tensors, data_->shape, "residual");
    tensors = data_->tensors();
    tensors.scale = static_cast<const float*>(tensors.w);
    expect_refused(tensors, data_->shape, "scale");
}

TEST_F(LaunchErrors, MisalignedPointers) {
    Tensors tensors = data_->tensors();
    tensors.x = static_cast<const char*>(tensors.x) + 2;
    expect_refused(tensors, data_->shape, "x");
}

TEST_F(LaunchErrors, WrongShapes) {
    expect_refused(data_->tensors(), {1, {8}}, "in");
    expect_refused(data_->tensors(), {1, {8, 0}}, "in");
    expect_refused(data_->tensors(), {-1, {8, 8}}, "batch");
    expect_refused(data_->tensors(), {1, {8, std::int64_t{1} << 62}}, "");
}

TEST(PrepareErrors, PlanThatDoesNotExist) {
    CONVT_NEEDS_GPUS(1);
    Engine engine = fresh_engine();
    PrepareOptions options = on(Device::cuda(0));
    options.plan = "no-such-family";
    EXPECT_THROW((void)engine.prepare(k0(), options), LayerError);
}

}  // namespace
}  // namespace convt_jit::test
