#include "convt_jit/convt_jit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

namespace convt_jit {
namespace {

// A directory of its own for each test, removed afterwards.
class EngineTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "convt_engine_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    [[nodiscard]] EngineOptions options() const { return {directory_}; }

    std::string directory_;
};

// One launch on the simulator with fresh data; the relative L2 error against the reference.
Errors run(const Kernel& kernel, const Layer& layer, const Shape& shape, std::uint64_t seed) {
    const HostTensors host = random_tensors(layer, shape, seed);
    const Device device = Device::simulator();
    const auto upload = [&](const std::vector<unsigned char>& bytes) {
        Buffer buffer(device, bytes.size());
        if (!bytes.empty()) buffer.upload(bytes.data(), bytes.size());
        return buffer;
    };
    const Buffer x = upload(encode(layer.dtype, host.x)), w = upload(encode(layer.dtype, host.w));
    const Buffer bias = upload(encode(layer.dtype, host.bias)), residual = upload(encode(layer.dtype, host.residual));
    const Buffer scale = upload(encode(DType::f32, host.scale)), shift = upload(encode(DType::f32, host.shift));
    std::vector<unsigned char> y_bytes(static_cast<std::size_t>(sizes(layer, shape).y) * size_of(layer.dtype));
    Buffer y(device, y_bytes.size());
    y.fill(0xff);
    Tensors tensors;
    tensors.x = x.data(), tensors.w = w.data(), tensors.y = y.data();
    if (layer.bias) tensors.bias = bias.data();
    if (layer.epilogue.residual) tensors.residual = residual.data();
    if (layer.epilogue.affine) {
        tensors.scale = static_cast<const float*>(scale.data());
        tensors.shift = static_cast<const float*>(shift.data());
    }
    kernel.launch(tensors, shape);
    y.download(y_bytes.data(), y_bytes.size());
    return compare(decode(layer.dtype, y_bytes), reference(layer, shape, host), layer.dtype);
}

TEST_F(EngineTest, LayerToCheckedResult) {
    Engine engine(options());
    for (const char* text :
         {"n2 c8 o8 in5x7 k3x5 s2x3 p1x2 d2x1 g4 bias", "n1 c3 o5 in9 k4 s2 p1 f16 affine gelu",
          "n1 c4 o6 in3x4x5 k3x3x3 s2x2x2 op1x1x1 g2 bf16 nhwc bias residual silu", "n2 c5 o3 in6x6 k3x3 nhwc"}) {
        SCOPED_TRACE(text);
        const Layer layer = parse_layer(text);
        const Kernel kernel = engine.prepare(layer, {Device::simulator(), "", false});
        const Errors errors = run(kernel, layer, known_shape(layer), 1);
        EXPECT_LE(errors.rel_l2, tolerance(layer));
        EXPECT_EQ(errors.wrong_nonfinite, 0);
    }
}

TEST_F(EngineTest, OneKernelServesEveryShape) {
    Engine engine(options());
    const Layer layer = parse_layer("c4 o4 k3x3 s2x2 p1x1 bias");
    const Kernel kernel = engine.prepare(layer, {Device::simulator(), "", false});
    for (const Shape& shape : {Shape{1, {1, 1}}, Shape{3, {5, 2}}, Shape{1, {40, 3}}, Shape{2, {1, 70}}}) {
        const Errors errors = run(kernel, layer, shape, 2);
        EXPECT_LE(errors.rel_l2, tolerance(layer)) << to_string(shape.input);
    }
}

TEST_F(EngineTest, ForcedPlans) {
    Engine engine(options());
    const Layer layer = parse_layer("n2 c10 o6 in7x9 k3x4 s3x2 p2x1 d1x3 g2 bias relu");
    for (const char* plan :
         {"direct positions=2x3x8 per_thread=4", "direct positions=1x1x16 per_thread=2 channels=1 vectors=2",
          "direct chunk=2", "direct chunk=3", "direct stage_input=0", "direct stage_weights=0",
          "direct stage_input=0 stage_weights=0 index=64", "direct row_phases=1 column_phases=1",
          "direct row_phases=2 column_phases=1", "direct partial=1", "direct exact_nonfinite=1", "direct unroll=1",
          "direct positions=1x1x64 per_thread=1 channels=1 vectors=1 row_phases=1 column_phases=1 chunk=1 "
          "stage_input=0 "
          "stage_weights=0 unroll=1"}) {
        SCOPED_TRACE(plan);
        const Kernel kernel = engine.prepare(layer, {Device::simulator(), plan, false});
        EXPECT_LE(run(kernel, layer, known_shape(layer), 3).rel_l2, tolerance(layer));
    }
}

TEST_F(EngineTest, SamePrepareIsTheSameKernel) {
    Engine engine(options());
    const Layer layer = parse_layer("n2 c4 o4 in5x5 k3x3");
    const Kernel a = engine.prepare(layer, {Device::simulator(), "", false});
    const Kernel b = engine.prepare(layer, {Device::simulator(), "", false});
    EXPECT_EQ(a.info().origin, Origin::compiler);
    EXPECT_EQ(b.info().origin, Origin::memory);
    EXPECT_EQ(b.info().compile_ms, 0) << "what this prepare spent";
    engine.clear();
    EXPECT_LE(run(a, layer, known_shape(layer), 4).rel_l2, tolerance(layer)) << "a kernel in use outlives clear()";
}

TEST_F(EngineTest, ThreadsShareOneBuild) {
    Engine engine(options());
    const Layer layer = parse_layer("n1 c4 o4 in5x5 k5x3 s2x1");
    std::vector<Origin> seen(8);
    std::vector<std::thread> threads;
    for (auto& place : seen)
        threads.emplace_back([&] { place = engine.prepare(layer, {Device::simulator(), "", false}).info().origin; });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), Origin::compiler), 1);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), Origin::memory), 7);
}

TEST_F(EngineTest, CompileFillsTheDiskCache) {
    const Layer layer = parse_layer("c4 o4 k3x3 s2x2 bias");
    KernelInfo first, second, third;
    {
        Engine engine(options());
        first = engine.compile(layer, "sm_90");
        second = engine.compile(layer, "sm_90a");
    }
    third = Engine(options()).compile(layer, "sm_90");
    EXPECT_EQ(first.origin, Origin::compiler);
    EXPECT_EQ(second.origin, Origin::memory) << "the plan has no use for the suffix";
    EXPECT_EQ(third.origin, Origin::disk);
    EXPECT_EQ(first.key, third.key);
    EXPECT_NE(Engine(options()).compile(layer, "sm_80").key, first.key);
}

TEST_F(EngineTest, CompileTellsWhatItMade) {
    const Layer layer = parse_layer("c4 o4 k3x3 s2x2 bias");
    const KernelInfo info = Engine(options()).compile(layer, "sm_90");
    EXPECT_EQ(info.layer, to_string(layer));
    EXPECT_EQ(info.arch, "sm_90");
    EXPECT_EQ(info.family, "unrolled");
    EXPECT_EQ(info.plan, Engine::render(layer, "sm_90").plan);
    EXPECT_GT(info.threads, 0);
    EXPECT_GT(info.shared_bytes, 0U);
}

TEST_F(EngineTest, NoDiskCacheIsFine) {
    Engine engine(EngineOptions{""});
    EXPECT_EQ(engine.compile(parse_layer("c1 o1 k1"), "sm_90").origin, Origin::compiler);
    Engine unwritable(EngineOptions{"/proc/convt_jit"});
    EXPECT_EQ(unwritable.compile(parse_layer("c1 o1 k1"), "sm_90").origin, Origin::compiler);
}

TEST_F(EngineTest, LaunchNamesWhatIsWrong) {
    Engine engine(options());
    const Layer layer = parse_layer("n1 c2 o2 in4x4 k3x3 bias");
    const Kernel kernel = engine.prepare(layer, {Device::simulator(), "", false});
    std::vector<float> memory(1000);
    Tensors good;
    good.x = good.w = good.bias = memory.data();
    good.y = memory.data();
    const auto field = [&](const Tensors& tensors, const Shape& shape) -> std::string {
        try {
            kernel.launch(tensors, shape);
        } catch (const LayerError& error) {
            return error.field();
        }
        return "accepted";
    };
    const Shape shape = known_shape(layer);
    Tensors bad = good;
    bad.x = nullptr;
    EXPECT_EQ(field(bad, shape), "x");
    bad = good;
    bad.bias = nullptr;
    EXPECT_EQ(field(bad, shape), "bias");
    bad = good;
    bad.residual = memory.data();
    EXPECT_EQ(field(bad, shape), "residual");
    bad = good;
    bad.w = reinterpret_cast<const char*>(memory.data()) + 2;
    EXPECT_EQ(field(bad, shape), "w");
    EXPECT_EQ(field(good, {1, {4}}).substr(0, 5), "input");
    EXPECT_EQ(field(good, {1, {4, 0}}).substr(0, 5), "input");
    EXPECT_EQ(field(good, {-1, {4, 4}}), "batch");
    EXPECT_EQ(field(good, {0, {4, 4}}), "accepted") << "an empty batch launches nothing";
    EXPECT_THROW(Kernel().launch(good, shape), LayerError);
}

TEST_F(EngineTest, BadRequests) {
    Engine engine(options());
    const Layer layer = parse_layer("c2 o2 k3x3");
    EXPECT_THROW((void)engine.compile(layer, "sm_9x"), LayerError);
    EXPECT_THROW((void)engine.compile(layer, "sm_42"), Error);
    EXPECT_THROW((void)engine.compile(layer, "sm_777"), CompileError);
    EXPECT_THROW((void)engine.prepare(layer, {Device::simulator(), "nonsense", false}), LayerError);
    Layer broken = layer;
    broken.groups = 3;
    EXPECT_THROW((void)engine.prepare(broken, {Device::simulator(), "", false}), LayerError);
}

TEST_F(EngineTest, RenderNeedsNeitherDeviceNorCompiler) {
    const Rendered rendered = Engine::render(parse_layer("c2 o2 k3x3"), "sm_90");
    EXPECT_NE(rendered.source.find(rendered.entry), std::string::npos);
    EXPECT_EQ(rendered.plan.substr(0, 8), "unrolled");
}

}  // namespace
}  // namespace convt_jit
